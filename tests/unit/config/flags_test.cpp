// Values of flags, and what is said about wrong ones.
#include <doctest/doctest.h>

#include "support.hpp"

namespace smg {
namespace {

TEST_CASE("mistakes in flags are named with flag, value and what is allowed") {
  const std::pair<std::vector<const char*>, const char*> cases[] = {
      {{"--port", "0"}, "--port 0: Must be > 0\n"},
      {{"--port", "65536"}, "--port 65536: must be from 1 to 65535\n"},
      {{"--port", "80x"}, "--port 80x: must be an integer\n"},
      {{"--port", "99999999999999999999"}, "--port 99999999999999999999: must be an integer\n"},
      {{"--port"}, "--port: needs a value: an integer\n"},
      {{"--port="}, "--port : must be an integer\n"},
      {{"--port", "1", "2"}, "--port 1 2: takes one value\n"},
      {{"--port", "1", "--port", "1"}, "--port 1 1: is given 2 times\n"},
      {{"--log-json", "yes"}, "--log-json yes: takes no value, or true or false\n"},
      {{"--log-json", "--log-json"}, "--log-json: is given 2 times\n"},
      {{"--log-level", "loud"}, "--log-level loud: must be one of debug, info, warn, error\n"},
      {{"--worker-overload-waiting-requests", "0"},
       "--worker-overload-waiting-requests 0: Must be >= 1 (0 would mark every worker "
       "overloaded)\n"},
      {{"--worker-overload-token-usage", "NaN"},
       "--worker-overload-token-usage NaN: Must be a fraction in (0.0, 1.0]\n"},
      {{"--worker-overload-token-usage", "much"},
       "--worker-overload-token-usage much: must be a number\n"},
      {{"--prometheus-duration-buckets", "1", "x"},
       "--prometheus-duration-buckets 1 x: must be numbers\n"},
      {{"--model-alias", "a"}, "--model-alias a: must be written as alias=canonical\n"},
      {{"--model-alias", "a="}, "--model-alias a=: must be written as alias=canonical\n"},
      {{"--model-alias", "a=b", "--model-alias", "a=c"},
       "--model-alias a=b a=c: names 'a' twice with different targets\n"},
      {{"--retry-max-backoff-ms", "10"},
       "--retry-max-backoff-ms 10: is 10, must be at least initial_backoff_ms, which is 50\n"},
      {{"--worker-urls"}, "--worker-urls: needs at least one URL\n"},
      {{"--worker-urls", "FTP://a"},
       "--worker-urls FTP://a: has a wrong scheme; schemes are http, https, grpc, grpcs, ipc, or "
       "what a transport plugin names, in lower case\n"},
      {{"--worker-urls", "http://a", "http://A:80/"},
       "--worker-urls http://A:80/: this worker is there already\n"},
      {{"--prot", "1"}, "--prot: unknown flag; did you mean port? (smg --help lists all)\n"},
      {{"--redis-url", "s3cret"},
       "--redis-url is a flag of the reference gateway that this version does not have\n"},
      {{"--model-path=x"},
       "--model-path is a flag of the reference gateway that this version does not have\n"},
      {{"--policy", "randon"},
       "--policy randon: no policy is named 'randon'; did you mean random? (there are: "
       "cache_aware, round_robin, random; searched: /p)\n"},
  };
  for (const auto& [arguments, text] : cases) {
    CAPTURE(text);
    auto draft =
        read_text(parse_command_line(arguments), "[plugins]\npaths = [\"/p\"]\n", "x.toml");
    REQUIRE(draft);
    CHECK(finish(std::move(*draft.value), standard_plugins()).problems.text() == text);
  }
}

TEST_CASE("the documented flags of other versions are known by name") {
  for (const char* flag :
       {"pd-disaggregation", "prefill", "tenant-rate-limit-enabled", "service-discovery",
        "tokenizer-path", "enable-mesh", "cache-threshold", "webrtc-stun-server"}) {
    CAPTURE(flag);
    const std::string word = "--" + std::string(flag);
    CHECK(verdict("", {word.c_str()}) ==
          word + " is a flag of the reference gateway that this version does not have\n");
  }
}

TEST_CASE("workers of flags come after those of the file") {
  const auto config =
      load("[[worker]]\nurl = \"http://a:1\"\n", {"--worker-urls", "http://b:2", "http://c:3/"});
  REQUIRE(config);
  REQUIRE(config.value->workers.size() == 3);
  CHECK(config.value->workers[0].url.text == "http://a:1");
  CHECK(config.value->workers[2].url.text == "http://c:3");
}

TEST_CASE("protection can be named on and off") {
  CHECK(load("", {"--worker-overload-protection"}).value->overload.protection);
  CHECK_FALSE(load("", {"--disable-worker-overload-protection"}).value->overload.protection);
  CHECK_FALSE(load("", {"--worker-overload-protection=false"}).value->overload.protection);
  CHECK(load("[overload]\nprotection = false\n", {"--worker-overload-protection"})
            .value->overload.protection);
}

TEST_CASE("aliases of models add up") {
  const auto config = load("", {"--model-alias", "a=x", "--model-alias", "b=y", "a=x"});
  REQUIRE(config);
  CHECK(config.value->models.aliases == StringMap{{"a", "x"}, {"b", "y"}});
}

TEST_CASE("mistakes of file and flags come out together") {
  CHECK(verdict("[server]\nport = 0\n", {"--log-level", "x", "--nonsense-here"}) ==
        "x.toml:2: [server] port = 0: Must be > 0\n"
        "--log-level x: must be one of debug, info, warn, error\n"
        "--nonsense-here: unknown flag (smg --help lists all)\n");
}

}  // namespace
}  // namespace smg
