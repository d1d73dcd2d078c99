// [[worker]] tables.
#include <doctest/doctest.h>

#include "support.hpp"

namespace smg {
namespace {

const std::string kHead = "[[worker]]\nurl = \"http://h:1\"\n";

TEST_CASE("a worker may say everything about itself") {
  const auto config = load(R"(
[[worker]]
url = "http://h:8000/base/"
model = "llama"
worker_type = "regular"
runtime = "vllm"
priority = 7
cost = 2
api_key = "s3cret"
load_monitor_interval_secs = 5
labels = { zone = "a", "max running" = "3" }
overload = { waiting_requests = 4, token_usage = 0.5 }
health = { timeout_secs = 1, check_interval_secs = 2, success_threshold = 3, failure_threshold = 4, disable_health_check = true, drain_settle_secs = 0 }

[worker.resilience]
max_retries = 1
initial_backoff_ms = 2
max_backoff_ms = 3
backoff_multiplier = 1
jitter_factor = 0.5
disable_retry = false
cb_failure_threshold = 4
cb_success_threshold = 5
cb_timeout_secs = 6
cb_window_secs = 7
disable_circuit_breaker = true
retryable_status_codes = [500, 503]
capacity_status_codes = []
)");
  REQUIRE_MESSAGE(config, config.problems.text());
  REQUIRE(config.value->workers.size() == 1);
  const WorkerSpec& worker = config.value->workers[0];
  CHECK(worker.url.text == "http://h:8000/base");
  CHECK(worker.models == std::vector<ModelCard>{"llama"});
  CHECK(worker.runtime == "vllm");
  CHECK(worker.priority == 7);
  CHECK(worker.cost == 2.0);
  CHECK(worker.api_key == "s3cret");
  CHECK(worker.load_monitor_interval_secs == 5);
  CHECK(worker.labels == StringMap{{"zone", "a"}, {"max running", "3"}});
  CHECK(worker.overload == WorkerOverload{4, 0.5});
  CHECK(worker.health == WorkerHealth{1, 2, 3, 4, true, 0});
  const WorkerResilience expected{1,
                                  2,
                                  3,
                                  1.0,
                                  0.5,
                                  false,
                                  4,
                                  5,
                                  6,
                                  7,
                                  true,
                                  std::vector<std::uint16_t>{500, 503},
                                  std::vector<std::uint16_t>{}};
  CHECK(worker.resilience == expected);
}

TEST_CASE("what a worker does not say stays unset") {
  const auto config = load(kHead);
  REQUIRE(config);
  WorkerSpec expected;
  expected.url = config.value->workers[0].url;
  CHECK(config.value->workers[0] == expected);
  CHECK(expected.priority == 50);
  CHECK(expected.cost == 1.0);
}

TEST_CASE("mistakes of a worker are named with line, key and what is allowed") {
  const std::pair<const char*, const char*> cases[] = {
      {"overload = { waiting_requests = 0 }",
       "[[worker]] overload.waiting_requests = 0: Must be >= 1 (0 would mark every worker "
       "overloaded)\n"},
      {"overload.token_usage = 1.5",
       "[[worker]] overload.token_usage = 1.5: Must be a fraction in (0.0, 1.0]\n"},
      {"overload.token_usage = 0",
       "[[worker]] overload.token_usage = 0: Must be a fraction in (0.0, 1.0]\n"},
      {"overload.waiting = 1", "[[worker]] overload.waiting = 1: unknown key\n"},
      {"overload.waiting_request = 1",
       "[[worker]] overload.waiting_request = 1: unknown key; did you mean waiting_requests?\n"},
      {"overload = 4", "[[worker]] overload = 4: is an integer, must be a table\n"},
      {"priority = -1", "[[worker]] priority = -1: must be from 0 to 4294967295\n"},
      {"priority = 4294967296", "[[worker]] priority = 4294967296: must be from 0 to 4294967295\n"},
      {"cost = -0.5", "[[worker]] cost = -0.5: must be at least 0\n"},
      {"cost = inf", "[[worker]] cost = inf: must be at least 0\n"},
      {"labels = { a = 1 }",
       "[[worker]] labels = { ... }: must be a table of strings and nothing else\n"},
      {"labels = \"a\"", "[[worker]] labels = \"a\": is a string, must be a table of strings\n"},
      {"worker_type = \"regulr\"",
       "[[worker]] worker_type = \"regulr\": must be one of regular, prefill, decode, encode\n"},
      {"runtime = \"vlm\"",
       "[[worker]] runtime = \"vlm\": must be one of unspecified, sglang, vllm, trtllm, mlx, "
       "tokenspeed, generic, external\n"},
      {"models = [\"a\", 1]",
       "[[worker]] models = [ ... ]: must be a list of strings that are not empty\n"},
      {"model = \"\"", "[[worker]] model = \"\": must not be empty\n"},
      {"resilience.retryable_status_codes = [99]",
       "[[worker]] resilience.retryable_status_codes = [ ... ]: 99 is no status code from 100 to "
       "599\n"},
      {"resilience.jitter_factor = 2",
       "[[worker]] resilience.jitter_factor = 2: must be from 0 to 1\n"},
      {"health.disable_health_check = 1",
       "[[worker]] health.disable_health_check = 1: is an integer, must be true or false\n"},
      {"api_key = 12345", "[[worker]] api_key: is an integer, must be a string\n"},
  };
  for (const auto& [line, text] : cases) {
    CAPTURE(line);
    CHECK(verdict(kHead + line + "\n") == "x.toml:3: " + std::string(text));
  }
}

TEST_CASE("an https worker may have authorities and a client certificate of its own") {
  const auto config = load(R"([[worker]]
url = "https://h"
tls = { ca_cert_paths = ["/a.pem", "/b.pem"], client_cert_path = "/c.pem", client_key_path = "/c.key" }
)");
  REQUIRE_MESSAGE(config, config.problems.text());
  CHECK(config.value->workers[0].tls == WorkerTls{{"/a.pem", "/b.pem"}, "/c.pem", "/c.key"});
  CHECK(verdict("[[worker]]\nurl = \"https://h\"\ntls = {}\n") == "ok");
  const std::pair<const char*, const char*> cases[] = {
      {"tls.ca_cert_path = \"/a\"",
       "[[worker]] tls.ca_cert_path: unknown key; did you mean ca_cert_paths?\n"},
      {"tls.ca_cert_paths = \"/a\"",
       "[[worker]] tls.ca_cert_paths = \"/a\": is a string, must be a list of strings\n"},
      {"tls.ca_cert_paths = [\"\"]",
       "[[worker]] tls = { ... }: has an empty string in ca_cert_paths; each must be the path of a "
       "PEM file\n"},
      {"tls.client_key_path = \"/k\"",
       "[[worker]] tls = { ... }: has one of client_cert_path and client_key_path; set both or "
       "none\n"},
  };
  for (const auto& [line, text] : cases) {
    CAPTURE(line);
    CHECK(verdict("[[worker]]\nurl = \"https://h\"\n" + std::string(line) + "\n") ==
          "x.toml:3: " + std::string(text));
  }
  CHECK(verdict(kHead + "tls.ca_cert_paths = [\"/a\"]\n") ==
        "x.toml:3: [[worker]] tls = { ... }: is for https workers only, this one's url begins with "
        "http://; write https:// or leave tls out\n");
}

TEST_CASE("a worker without a url, or with a wrong one, is refused") {
  CHECK(verdict("[[worker]]\nmodel = \"m\"\n") == "x.toml:1: [[worker]] has no url\n");
  CHECK(verdict("[[worker]]\nurl = \"h:8000\"\n") ==
        "x.toml:2: [[worker]] url = \"h:8000\": has no scheme; a worker's URL is written like "
        "http://host:8000\n");
  CHECK(verdict("[[worker]]\nurl = \"http://user:s3cret@h\"\n") ==
        "x.toml:2: [[worker]] url = \"http://***@h\": has credentials; use api_key\n");
}

TEST_CASE("no two workers have the same endpoint, however it is written") {
  CHECK(verdict("[[worker]]\nurl = \"http://H\"\n[[worker]]\nurl = \"http://h:80/\"\n") ==
        "x.toml:3: [[worker]] url = \"http://h:80\": this worker is there already\n");
}

TEST_CASE("one of model and models is enough") {
  CHECK(load(kHead + "models = [\"a\", \"b\"]\n").value->workers[0].models ==
        std::vector<ModelCard>{"a", "b"});
  CHECK(verdict(kHead + "model = \"a\"\nmodels = [\"b\"]\n") ==
        "x.toml:4: [[worker]] models = [ ... ]: stands beside model; use one of the two\n");
}

TEST_CASE("workers are tables in a list") {
  CHECK(verdict("[worker]\nurl = \"http://h\"\n") ==
        "x.toml:1: worker: must be written as [[worker]], one for each\n");
  CHECK(verdict("worker = [1]\n") ==
        "x.toml:1: worker: must be written as [[worker]], one for each\n");
  CHECK(verdict("worker = [{ url = \"http://h\" }]\n") == "ok");
}

TEST_CASE("worker types that are not served are refused, not ignored") {
  CHECK(verdict(kHead + "worker_type = \"prefill\"\n") ==
        "worker http://h:1: worker_type = \"prefill\" is not served by this version; only regular "
        "is\n");
}

TEST_CASE("the backoff of a worker is checked against what it inherits") {
  CHECK(verdict(kHead + "resilience.max_backoff_ms = 10\n") ==
        "worker http://h:1: resilience.max_backoff_ms is 10, must be at least initial_backoff_ms, "
        "which is 50\n");
}

}  // namespace
}  // namespace smg
