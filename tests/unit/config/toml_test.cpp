// What is said about every kind of mistake in a file.
#include <doctest/doctest.h>

#include <algorithm>

#include "support.hpp"

namespace smg {
namespace {

TEST_CASE("mistakes in a file are named with line, key, value and what is allowed") {
  struct Case {
    const char* toml;
    const char* text;
  };
  const Case cases[] = {
      // Unknown names.
      {"[overload]\nwaiting_request = 4\n",
       "x.toml:2: [overload] waiting_request = 4: unknown key; did you mean waiting_requests?\n"},
      {"[server]\nwaiting_requests = 4\n",
       "x.toml:2: [server] waiting_requests = 4: unknown key; it belongs to [overload]\n"},
      {"[pd]\nsomething_else = true\n",
       "x.toml:2: [pd] something_else = true: unknown key; there are admission_wait_secs\n"},
      {"[overlaod]\nshed = true\n",
       "x.toml:1: [overlaod]: unknown section; did you mean overload?\n"},
      {"[zzzzzzzzzzzz]\n", "x.toml:1: [zzzzzzzzzzzz]: unknown section\n"},
      {"max_payload_size = 1\n",
       "x.toml:1: max_payload_size = 1: stands outside of its section; it belongs to [server]\n"},
      {"port = 80\n",
       "x.toml:1: port = 80: stands outside of its section; it belongs to [server], [metrics]\n"},
      {"server = 3\n", "x.toml:1: server: is an integer, must be a table: [server]\n"},
      {"[[server]]\nport = 1\n", "x.toml:1: server: is a list, must be a table: [server]\n"},
      {"[transport]\nretries = 3\n", "x.toml:2: [transport] retries = 3: unknown key\n"},
      // Types.
      {"[server]\nport = \"80\"\n",
       "x.toml:2: [server] port = \"80\": is a string, must be an integer\n"},
      {"[server]\nport = 80.5\n",
       "x.toml:2: [server] port = 80.5: is a number, must be an integer\n"},
      {"[overload]\nshed = 1\n",
       "x.toml:2: [overload] shed = 1: is an integer, must be true or false\n"},
      {"[server]\nhost = 2026-01-01\n",
       "x.toml:2: [server] host = a date or time: is a date or time, must be a string\n"},
      {"[server]\ncors_allowed_origins = [\"a\", 1]\n",
       "x.toml:2: [server] cors_allowed_origins = [ ... ]: must be a list of strings and nothing "
       "else\n"},
      {"[server]\ncors_allowed_origins = \"a\"\n",
       "x.toml:2: [server] cors_allowed_origins = \"a\": is a string, must be a list of strings\n"},
      // Ranges.
      {"[server]\nport = 0\n", "x.toml:2: [server] port = 0: Must be > 0\n"},
      {"[server]\nport = 65536\n", "x.toml:2: [server] port = 65536: must be from 1 to 65535\n"},
      {"[server]\njob_queue_capacity = 1000001\n",
       "x.toml:2: [server] job_queue_capacity = 1000001: must be from 1 to 1000000\n"},
      {"[liveness]\nwedge_secs = -1\n",
       "x.toml:2: [liveness] wedge_secs = -1: must be at least 0\n"},
      {"[overload]\nwaiting_requests = 0\n",
       "x.toml:2: [overload] waiting_requests = 0: Must be >= 1 (0 would mark every worker "
       "overloaded)\n"},
      {"[overload]\ntoken_usage = 0.0\n",
       "x.toml:2: [overload] token_usage = 0: Must be a fraction in (0.0, 1.0]\n"},
      {"[overload]\ntoken_usage = 1.0001\n",
       "x.toml:2: [overload] token_usage = 1.0001: Must be a fraction in (0.0, 1.0]\n"},
      {"[overload]\ntoken_usage = nan\n",
       "x.toml:2: [overload] token_usage = nan: Must be a fraction in (0.0, 1.0]\n"},
      {"[overload]\ntoken_usage = -inf\n",
       "x.toml:2: [overload] token_usage = -inf: Must be a fraction in (0.0, 1.0]\n"},
      {"[load_monitor]\ninterval_secs = 0\n",
       "x.toml:2: [load_monitor] interval_secs = 0: Must be > 0\n"},
      {"[circuit_breaker]\nfailure_threshold = 0\n",
       "x.toml:2: [circuit_breaker] failure_threshold = 0: Must be >= 1 (set to u32::MAX to "
       "effectively disable CB)\n"},
      {"[retry]\nmax_retries = 0\n",
       "x.toml:2: [retry] max_retries = 0: Must be >= 1 (set to 1 to effectively disable "
       "retries)\n"},
      {"[retry]\nbackoff_multiplier = 0.9\n",
       "x.toml:2: [retry] backoff_multiplier = 0.9: Must be >= 1.0\n"},
      {"[retry]\njitter_factor = 1.1\n",
       "x.toml:2: [retry] jitter_factor = 1.1: must be from 0 to 1\n"},
      {"[log]\nlevel = \"loud\"\n",
       "x.toml:2: [log] level = \"loud\": must be one of debug, info, warn, error\n"},
      // Checks of one setting.
      {"[server]\nhost = \"here\"\n",
       "x.toml:2: [server] host = \"here\": must be an IPv4 or IPv6 address, for example 0.0.0.0 "
       "or "
       "::1\n"},
      {"[server]\nrequest_id_headers = []\n",
       "x.toml:2: [server] request_id_headers = [ ... ]: must name at least one header\n"},
      {"[server]\nrequest_id_headers = [\"x y\"]\n",
       "x.toml:2: [server] request_id_headers = [ ... ]: 'x y' is no name of a header\n"},
      {"[health_check]\nendpoint = \"health\"\n",
       "x.toml:2: [health_check] endpoint = \"health\": must be a path that begins with /\n"},
      {"[metrics]\nduration_buckets = [1, 1]\n",
       "x.toml:2: [metrics] duration_buckets = [ ... ]: must be finite numbers above 0, strictly "
       "ascending\n"},
      {"[metrics]\nduration_buckets = []\n",
       "x.toml:2: [metrics] duration_buckets = [ ... ]: must have at least one number\n"},
      {"[models]\naliases = { \"a\" = \"\" }\n",
       "x.toml:2: [models] aliases = { ... }: must not have an empty name or an empty value\n"},
      {"[plugins]\npaths = [\"\"]\n",
       "x.toml:2: [plugins] paths = [ ... ]: must not have an empty string in it\n"},
      // Settings against each other.
      {"[retry]\ninitial_backoff_ms = 10\nmax_backoff_ms = 9\n",
       "x.toml:3: [retry] max_backoff_ms: is 9, must be at least initial_backoff_ms, which is "
       "10\n"},
      {"[retry]\ninitial_backoff_ms = 30001\n",
       "[retry] max_backoff_ms: is 30000, must be at least initial_backoff_ms, which is 30001\n"},
      {"[server]\nmax_payload_size = 100\nstream_request_bodies_over = 100\n",
       "x.toml:3: [server] stream_request_bodies_over: is 100, must be below max_payload_size, "
       "which "
       "is 100\n"
       "x.toml:3: [server] stream_request_bodies_over: this version does not relay a request "
       "before "
       "it has arrived in full\n"},
      {"[metrics]\nport = 30000\n",
       "x.toml:2: [metrics] port: is 30000, which is server.port already; choose another port\n"},
      {"[server]\nhealth_check_port = 29000\n",
       "[metrics] port: is 29000, which is server.health_check_port already; choose another "
       "port\n"
       "x.toml:2: [server] health_check_port: this version answers /health on the main port "
       "only\n"},
      {"[tls]\ncert_path = \"/c\"\n",
       "x.toml:2: [tls] cert_path: is set and key_path is not; set both or none\n"},
      {"[tls]\nclient_ca_path = \"/c\"\n",
       "x.toml:2: [tls] client_ca_path: is set without TLS; set cert_path and key_path as well\n"},
      {"[[worker]]\nurl = \"http://a:1\"\napi_key = \"a\\r\\nb\"\n",
       "x.toml:3:11: a text must be one line without control characters\n"},
      {"[server]\nhost = \"127.0.0.1\\u0000\"\n",
       "x.toml:2:8: a text must be one line without control characters\n"},
      // Not served.
      {"[server]\ndp_aware = true\n",
       "x.toml:2: [server] dp_aware: this version does not expand workers into data-parallel "
       "ranks\n"},
      // Policies.
      {"[plugins]\npaths = [\"/a\", \"/b\"]\n[policy]\nname = \"randon\"\n",
       "x.toml:4: [policy] name: no policy is named 'randon'; did you mean random? (there are: "
       "cache_aware, round_robin, random; searched: /a, /b)\n"},
      {"[plugins]\npaths = []\n[policy]\nmodels.\"m\" = \"zzz\"\n",
       "x.toml:4: [policy] models: no policy is named 'zzz' (there are: cache_aware, round_robin, "
       "random; "
       "searched: nothing, [plugins] paths is empty)\n"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.toml);
    CHECK(verdict(c.toml) == c.text);
  }
}

TEST_CASE("all mistakes come out together, in the order of the file") {
  CHECK(verdict("[server]\nport = 0\nhost = 1\n[log]\nlevel = 2\n[log2]\n[[worker]]\nurl = 1\n"
                "[policy]\nname = \"none\"\n") ==
        "x.toml:2: [server] port = 0: Must be > 0\n"
        "x.toml:3: [server] host = 1: is an integer, must be a string\n"
        "x.toml:5: [log] level = 2: is an integer, must be a string\n"
        "x.toml:6: [log2]: unknown section; did you mean log?\n"
        "x.toml:8: [[worker]] url = 1: is an integer, must be a string\n"
        "x.toml:10: [policy] name: no policy is named 'none' (there are: cache_aware, round_robin, "
        "random; "
        "searched: " +
            std::string(defaults::kPluginPath) + ")\n");
}

TEST_CASE("after twenty mistakes the rest is counted") {
  std::string toml = "[server]\n";
  for (int i = 0; i < 25; ++i) toml += "wrong_" + std::to_string(i) + " = 1\n";
  const auto result = load(toml);
  REQUIRE_FALSE(result);
  CHECK(result.problems.lines.size() == 20);
  CHECK(result.problems.dropped == 5);
  CHECK(result.problems.text().ends_with("and 5 more\n"));
}

TEST_CASE("texts under unknown keys are not shown: they may be secrets") {
  CHECK(verdict("[server]\napi_key = \"s3cret\"\n").find("s3cret") == std::string::npos);
  CHECK(verdict("[[worker]]\nurl = \"http://h:1\"\napikey = \"s3cret\"\n") ==
        "x.toml:3: [[worker]] apikey: unknown key; did you mean api_key?\n");
}

TEST_CASE("what a message shows is cut and free of control characters") {
  const auto text = verdict("[server]\n\"a\\nb\" = 1\nport = \"" + std::string(100, 'x') + "\"\n");
  CHECK(text.find("a\\x0ab = 1") != std::string::npos);
  CHECK(text.find(std::string(60, 'x') + "...\"") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
}

TEST_CASE("a stale bound within the polling interval is worth a warning") {
  const auto config = load("[liveness]\nstale_secs = 10\n");
  REQUIRE(config);
  REQUIRE(config.value->warnings.size() == 1);
  CHECK(config.value->warnings[0].find("stale_secs (10) is not above") != std::string::npos);
  CHECK(load("[liveness]\nstale_secs = 0\n").value->warnings.empty());
  CHECK(load("[liveness]\nstale_secs = 11\n").value->warnings.empty());
}

TEST_CASE("a metrics host that is no address falls back with a warning") {
  const auto config = load("[metrics]\nhost = \"nowhere\"\n");
  REQUIRE(config);
  CHECK(config.value->metrics.host == "0.0.0.0");
  CHECK(config.value->warnings.size() == 1);
}

TEST_CASE("listeners on different addresses may share a port") {
  CHECK(
      verdict("[server]\nhost = \"127.0.0.1\"\n[metrics]\nhost = \"127.0.0.2\"\nport = 30000\n") ==
      "ok");
}

TEST_CASE("a model may have a policy of its own") {
  const auto config = load("[policy]\nname = \"random\"\nmodels.\"llama\" = \"round_robin\"\n");
  REQUIRE(config);
  CHECK(config.value->policy.name_for("llama") == "round_robin");
  CHECK(config.value->policy.name_for("other") == "random");
}

}  // namespace
}  // namespace smg
