#include <doctest/doctest.h>

#include <map>

#include "fixture.hpp"

using namespace smg::test;

namespace {

struct Probed {
  int times = 0;
  bool healthy = false;
  std::string detail;
  std::string runtime;
  std::vector<std::string> models;
  std::map<std::string, std::string> labels;
};

void done(void* context, const smg_probe_result* result) {
  auto& probed = *static_cast<Probed*>(context);
  ++probed.times;
  probed.healthy = result->healthy == 1;
  probed.detail = smg::text(result->detail);
  probed.runtime = smg::text(result->runtime);
  for (std::uint32_t i = 0; i < result->model_count; ++i) {
    probed.models.emplace_back(smg::text(result->models[i]));
  }
  for (std::uint32_t i = 0; i < result->label_count; ++i) {
    probed.labels.emplace(smg::text(result->labels[i].key), smg::text(result->labels[i].value));
  }
}

constexpr std::uint32_t kAll = SMG_PROBE_HEALTH | SMG_PROBE_IDENTITY | SMG_PROBE_MODELS;

// An engine that has these documents and 404 for all else.
ScriptedServer::Script engine(std::map<std::string, std::string> documents) {
  return [documents = std::move(documents)](Peer& peer) {
    for (std::string request; !(request = peer.read_request()).empty();) {
      const std::string path = request.substr(4, request.find(' ', 4) - 4);
      const auto found = documents.find(path);
      peer.send(found == documents.end() ? "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
                                         : ok(found->second));
    }
  };
}

smg_probe wanted(std::uint32_t what) {
  smg_probe probe{};
  probe.struct_size = sizeof probe;
  probe.what = what;
  probe.timeout_ns = 5 * kSecond;
  return probe;
}

Probed probe(Gateway& gateway, const smg_probe& wanted) {
  Probed probed;
  gateway.library.api->probe(gateway.endpoint, &wanted, done, &probed);
  REQUIRE(gateway.host.run_until([&] { return probed.times > 0; }));
  gateway.host.loop().turn(1);
  CHECK(probed.times == 1);
  return probed;
}

Probed probe(Gateway& gateway, std::uint32_t what) {
  return probe(gateway, wanted(what));
}

Probed probe(const ScriptedServer& server, std::uint32_t what) {
  Gateway gateway(server);
  return probe(gateway, what);
}

}  // namespace

TEST_CASE("a worker is healthy if its health path answers 2xx") {
  CHECK(probe(ScriptedServer(engine({{"/health", ""}})), SMG_PROBE_HEALTH).healthy);
  const Probed sick =
      probe(ScriptedServer(always("HTTP/1.1 503 Loading\r\nContent-Length: 0\r\n\r\n")),
            SMG_PROBE_HEALTH);
  CHECK_FALSE(sick.healthy);
  CHECK(sick.detail == "GET /health answered 503");
}

TEST_CASE("a health probe carries the worker's key and asks for the path that is set") {
  std::string heard;
  ScriptedServer server([&](Peer& peer) {
    heard = peer.read_request();
    peer.send(ok(""));
    peer.wait_closed();
  });
  Gateway gateway(WorkerText{.port = server.port(), .base_path = "/a", .api_key = "sesame"});
  smg_probe ready = wanted(SMG_PROBE_HEALTH);
  ready.health_path = smg::view("/ready");
  CHECK(probe(gateway, ready).healthy);
  gateway.close();
  CHECK(heard.starts_with("GET /a/ready HTTP/1.1\r\n"));
  CHECK(heard.find("authorization: Bearer sesame\r\n") != std::string::npos);
}

TEST_CASE("an anonymous probe keeps the credential back from the health path, not from the rest") {
  std::vector<std::string> heard;
  ScriptedServer server([&](Peer& peer) {
    for (std::string request; !(request = peer.read_request()).empty();) {
      heard.push_back(request);
      peer.send(ok(""));
    }
  });
  Gateway gateway(WorkerText{.port = server.port(), .api_key = "sesame"});
  smg_probe anonymous = wanted(SMG_PROBE_HEALTH | SMG_PROBE_MODELS);
  anonymous.flags = SMG_PROBE_ANONYMOUS;
  CHECK(probe(gateway, anonymous).healthy);
  gateway.close();
  REQUIRE(heard.size() == 2);
  CHECK(heard[0].starts_with("GET /health "));
  CHECK(heard[0].find("sesame") == std::string::npos);
  CHECK(heard[1].starts_with("GET /v1/models "));
  CHECK(heard[1].find("authorization: Bearer sesame") != std::string::npos);
}

TEST_CASE("a worker that refuses, hangs or hangs up is not healthy, and the probe says why") {
  std::uint16_t closed = 0;
  {
    ScriptedServer server([](Peer&) {});
    closed = server.port();
  }
  Gateway refused(WorkerText{.port = closed});
  const Probed first = probe(refused, kAll);
  CHECK_FALSE(first.healthy);
  CHECK(first.detail.find("Connection refused") != std::string::npos);

  ScriptedServer silent([](Peer& peer) { peer.wait_closed(); });
  Gateway waiting(silent);
  Probed second;
  const smg_probe all = wanted(kAll);
  waiting.library.api->probe(waiting.endpoint, &all, done, &second);
  waiting.host.loop().turn(1);
  waiting.host.advance(5 * kSecond + kSecond / 2);
  REQUIRE(waiting.host.run_until([&] { return second.times == 1; }));
  CHECK_FALSE(second.healthy);
  CHECK(second.detail.find("GET /health failed: no answer came in time") == 0);
}

TEST_CASE("a vLLM is known by its list of models, and described from it and its version") {
  const Probed probed = probe(
      ScriptedServer(
          engine({{"/health", ""},
                  {"/v1/models",
                   R"({"object":"list","data":[{"id":"llama","object":"model","owned_by":"vllm",
                     "root":"meta/llama","max_model_len":8192},{"id":"adapter","owned_by":"vllm"}]})"},
                  {"/version", R"({"version":"0.9.1"})"}})),
      kAll);
  CHECK(probed.healthy);
  CHECK(probed.runtime == "vllm");
  CHECK(probed.models == std::vector<std::string>{"llama", "adapter"});
  CHECK(probed.labels == std::map<std::string, std::string>{{"model_path", "meta/llama"},
                                                            {"served_model_name", "llama"},
                                                            {"max_model_len", "8192"},
                                                            {"version", "0.9.1"}});
}

TEST_CASE("an SGLang is described by its server and model info, under old paths too") {
  const std::string models = R"({"data":[{"id":"qwen","owned_by":"sglang","max_model_len":100}]})";
  const std::string server_info =
      R"({"model_path":"/m/qwen","dp_size":2,"is_embedding":false,"version":"0.5","token":"no"})";
  const std::string model_info =
      R"({"model_path":"/other","is_generation":true,"architectures":["A","B"],"model_type":null})";
  for (const bool old : {false, true}) {
    const Probed probed =
        probe(ScriptedServer(engine({{"/health", ""},
                                     {"/v1/models", models},
                                     {old ? "/get_server_info" : "/server_info", server_info},
                                     {old ? "/get_model_info" : "/model_info", model_info}})),
              kAll);
    CHECK(probed.runtime == "sglang");
    CHECK(probed.labels == std::map<std::string, std::string>{{"model_path", "/m/qwen"},
                                                              {"dp_size", "2"},
                                                              {"is_embedding", "false"},
                                                              {"version", "0.5"},
                                                              {"is_generation", "true"},
                                                              {"architectures", "A,B"},
                                                              {"served_model_name", "qwen"},
                                                              {"max_model_len", "100"}});
  }
}

TEST_CASE("without an owner that is known the routes tell the runtime") {
  const std::string models = R"({"data":[{"id":"m","owned_by":"me"}]})";
  CHECK(probe(ScriptedServer(engine({{"/v1/models", models}, {"/version", "{}"}})),
              SMG_PROBE_IDENTITY)
            .runtime == "vllm");
  CHECK(probe(ScriptedServer(engine({{"/v1/models", models}, {"/server_info", "{}"}})),
              SMG_PROBE_IDENTITY)
            .runtime == "sglang");
  CHECK(probe(ScriptedServer(engine({{"/v1/models", models}})), SMG_PROBE_IDENTITY).runtime ==
        "generic");
  const Probed nothing = probe(ScriptedServer(engine({})), SMG_PROBE_IDENTITY);
  CHECK(nothing.runtime.empty());
  CHECK_FALSE(nothing.healthy);
  CHECK(nothing.detail == "GET /v1/models answered 404");
}

TEST_CASE("a runtime that is given is not guessed at") {
  ScriptedServer server(engine({{"/v1/models", R"({"data":[{"id":"m","owned_by":"vllm"}]})"}}));
  Gateway gateway(WorkerText{.port = server.port(), .runtime = "trtllm"});
  CHECK(probe(gateway, SMG_PROBE_IDENTITY).runtime == "trtllm");
}

TEST_CASE("documents that are no JSON or of another shape add nothing") {
  for (const char* text : {"<html>", "[]", R"({"data":7})", R"({"data":[7,{"id":8},{}]})", ""}) {
    const Probed probed =
        probe(ScriptedServer(engine({{"/v1/models", text}, {"/server_info", text}})),
              SMG_PROBE_IDENTITY | SMG_PROBE_MODELS);
    CHECK(probed.healthy);
    CHECK(probed.models.empty());
    CHECK(probed.labels.empty());
  }
}

TEST_CASE("a probe that runs while the endpoint is closed is answered, once") {
  ScriptedServer server([](Peer& peer) { peer.wait_closed(); });
  Gateway gateway(server);
  Probed probed;
  const smg_probe all = wanted(kAll);
  gateway.library.api->probe(gateway.endpoint, &all, done, &probed);
  REQUIRE(gateway.host.run_until([&] { return server.accepted() == 1; }));
  gateway.close();
  CHECK(probed.times == 1);
  CHECK_FALSE(probed.healthy);
  CHECK(probed.detail == "the worker was removed during the probe");
}
