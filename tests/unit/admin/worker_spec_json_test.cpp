#include "host/admin/worker_spec_json.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace smg;

namespace {

WorkerSpec good(const std::string& fields) {
  SpecError error;
  const auto spec = parse_worker_spec("{\"url\":\"http://w:1\"" + fields + "}", error);
  CHECK_MESSAGE(spec, error.body.message, error.refusal);
  return spec.value_or(WorkerSpec{});
}

std::string bad(const std::string& fields) {
  SpecError error;
  CHECK_FALSE(parse_worker_spec("{\"url\":\"http://w:1\"" + fields + "}", error));
  return error.body ? std::to_string(error.body.status()) + " " + error.body.message
                    : "400 " + error.refusal;
}

}  // namespace

TEST_CASE("http-api 2.1: every field has its default") {
  CHECK(good("") == [] {
    WorkerSpec spec;
    std::string reason;
    spec.url = *parse_worker_url("http://w:1", reason);
    return spec;
  }());
}

TEST_CASE("http-api 2.1: null stands for an absent optional, not for a number") {
  CHECK(
      good(R"(,"api_key":null,"overload":null,"health":null,"load_monitor_interval_secs":null)") ==
      good(""));
  CHECK(bad(R"(,"priority":null)").starts_with("422 priority: is null"));
}

TEST_CASE("http-api 2.1: values arrive where they belong") {
  const WorkerSpec spec = good(
      R"(,"runtime":"vllm","worker_type":"decode","priority":4294967295,"cost":0.5,"api_key":"k",
      "overload":{"waiting_requests":4,"token_usage":0.5},"load_monitor_interval_secs":0,
      "health":{"timeout_secs":1,"disable_health_check":true},"kv_role":"both","unknown":[1],
      "resilience":{"max_retries":1,"capacity_status_codes":[418]})");
  CHECK(spec.runtime == "vllm");
  CHECK(spec.worker_type == "decode");
  CHECK(spec.priority == 4294967295u);
  CHECK(spec.cost == 0.5);
  CHECK(spec.api_key == "k");
  CHECK(spec.overload.waiting_requests == 4);
  CHECK(spec.overload.token_usage == 0.5);
  CHECK(spec.load_monitor_interval_secs == 0);
  CHECK(spec.health.timeout_secs == 1);
  CHECK(spec.health.disable_health_check == true);
  CHECK_FALSE(spec.health.failure_threshold);
  CHECK(spec.resilience.capacity_status_codes == std::vector<std::uint16_t>{418});
  CHECK(spec.carried == R"({"kv_role":"both"})");
}

TEST_CASE("overload 1.3.7: a wrong type is a body error, a wrong ceiling is left to the job") {
  CHECK(bad(R"(,"overload":{"waiting_requests":1.5})")
            .starts_with(
                "422 overload.waiting_requests: is a number that is large or has a fraction"));
  CHECK(bad(R"(,"overload":{"waiting_requests":-1})").starts_with("422 overload.waiting_requests"));
  CHECK(bad(R"(,"overload":{"token_usage":"0.5"})").starts_with("422 overload.token_usage"));
  CHECK(good(R"(,"overload":{"waiting_requests":0,"token_usage":7})").overload.token_usage == 7);
}

TEST_CASE("the first thing that is wrong is named") {
  CHECK(bad(R"(,"priority":"a","cost":"b")").starts_with("422 priority"));
  CHECK(bad(R"(,"health":{"timeout_secs":-5})").starts_with("422 health.timeout_secs: is -5"));
  CHECK(bad(R"(,"models":[{"id":"a"},{"id":3}])").starts_with("422 models[1].id: is 3"));
  CHECK(
      bad(R"(,"models":[{"id":"a","aliases":[1]}])").starts_with("422 models[0].aliases[0]: is 1"));
  CHECK(bad(R"(,"bootstrap_port":70000)").starts_with("422 bootstrap_port: is 70000"));
  CHECK(bad(R"(,"http_pool":{"timeout_secs":true})").starts_with("422 http_pool.timeout_secs"));
  CHECK(bad(R"(,"models":[{"id":""}])").starts_with("400 models"));
  CHECK(bad(R"(,"cost":-1)").starts_with("400 cost must be at least 0"));
  CHECK(bad(R"(,"resilience":{"retryable_status_codes":[42]})").starts_with("400 resilience: 42"));
}

TEST_CASE("what cannot stand in a header is no key, what no double holds no number") {
  CHECK(bad(","
            R"("api_key":"a\r\nX-Evil: 1")")
            .starts_with("400 api_key must be visible"));
  CHECK(bad(","
            R"("api_key":"two words")")
            .starts_with("400 api_key"));
  CHECK(bad(","
            R"("cost":1e999)")
            .starts_with("422 cost: is too large"));
  CHECK(bad(","
            R"("cost":1e300)")
            .starts_with("400 cost"));
  CHECK(bad(","
            R"("priority":99999999999999999999999)")
            .starts_with("422 priority: is a number"));
  CHECK(bad(","
            R"("worker_type":"zz")")
            .starts_with("422 worker_type: is \"zz\", must be one of"));
  CHECK(bad(","
            R"("models":["x"])")
            .starts_with("422 models[0]: is a string"));
  SpecError error;
  CHECK_FALSE(parse_worker_patch(R"({"api_key":"a\nb"})", error));
  CHECK(error.refusal.starts_with("api_key"));
  CHECK_FALSE(parse_worker_patch(R"({"cost":1e999})", error));
}

TEST_CASE("an https worker may have authorities and a client certificate of its own") {
  SpecError error;
  const auto read = [&](const std::string& tls) {
    error = {};
    return parse_worker_spec("{\"url\":\"https://w:1\",\"tls\":" + tls + "}", error);
  };
  auto spec = read(
      R"({"ca_cert_paths":["/a.pem","/b.pem"],"client_cert_path":"/c.pem","client_key_path":"/c.key"})");
  REQUIRE(spec);
  CHECK(spec->tls == WorkerTls{{"/a.pem", "/b.pem"}, "/c.pem", "/c.key"});
  for (const char* nothing : {"null", "{}", R"({"ca_cert_paths":null,"client_key_path":""})"}) {
    spec = read(nothing);
    REQUIRE(spec);
    CHECK_FALSE(spec->tls.given());
  }
  CHECK_FALSE(read(R"({"ca_cert_paths":"/a.pem"})"));
  CHECK(error.body.message.starts_with("tls.ca_cert_paths: is a string"));
  CHECK_FALSE(read(R"(["/a.pem"])"));
  CHECK(error.body.message.starts_with("tls: is an array"));
  CHECK_FALSE(read(R"({"client_cert_path":"/c.pem"})"));
  CHECK(error.refusal == "tls has one of client_cert_path and client_key_path; set both or none");
  CHECK(bad(R"(,"tls":{"ca_cert_paths":["/a.pem"]})") ==
        "400 tls is for https workers only, this one's url begins with http://; write https:// or "
        "leave tls out");
}

TEST_CASE("a URL is checked as in the configuration, and its secret is not repeated") {
  SpecError error;
  CHECK_FALSE(parse_worker_spec(R"({"url":"http://me:hunter2@w:1"})", error));
  CHECK(error.refusal.find("hunter2") == std::string::npos);
  CHECK(error.refusal.find("credentials") != std::string::npos);
}

TEST_CASE("http-api 2.4.3: a patch takes what it may change and passes over the rest") {
  SpecError error;
  const auto patch = parse_worker_patch(
      R"({"priority":1,"labels":{"a":"b"},"health":{"failure_threshold":9},"overload":{"waiting_requests":1},"url":7})",
      error);
  REQUIRE(patch);
  CHECK(patch->priority == 1u);
  CHECK_FALSE(patch->cost);
  CHECK_FALSE(patch->api_key);
  CHECK(patch->labels.at("a") == "b");
  CHECK(patch->health.failure_threshold == 9u);
  CHECK_FALSE(parse_worker_patch(R"({"labels":["a"]})", error));
}

TEST_CASE("what is nested beyond reason is refused, not followed") {
  SpecError error;
  const std::string deep = "{\"url\":" + std::string(100000, '[');
  CHECK_FALSE(parse_worker_spec(deep, error));
  CHECK(error.body.status() == 400);
}
