#include <doctest/doctest.h>

#include <atomic>
#include <fstream>

#include "fixture.hpp"

using namespace smg::test;

namespace {

bool is_mapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(path) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("the descriptor says what the plugin is and serves") {
  Library library;
  CHECK(library.library->magic == SMG_PLUGIN_MAGIC);
  CHECK(library.library->abi_major == SMG_ABI_MAJOR);
  CHECK(library.library->plugin_count == 1);
  CHECK(smg::text(library.plugin->name) == "http");
  CHECK(library.plugin->kind == SMG_KIND_TRANSPORT);
  REQUIRE(library.api->scheme_count == 2);
  CHECK(smg::text(library.api->schemes[0]) == "http");
  CHECK(smg::text(library.api->schemes[1]) == "https");
  CHECK(library.api->runtime_count == 0);
}

TEST_CASE("closing leaves no descriptor, watch or timer behind") {
  ScriptedServer server(always(ok("{}")));
  const int before = open_descriptors();
  {
    Gateway gateway(server);
    std::vector<Call> calls(8);
    for (Call& call : calls) gateway.start(call);
    REQUIRE(gateway.host.run_until([&] {
      return std::all_of(calls.begin(), calls.end(), [](const Call& call) { return call.ended(); });
    }));
    CHECK(gateway.host.loop().watched() == 8);
    gateway.close();
    CHECK(gateway.host.loop().watched() == 0);
    CHECK(gateway.host.loop().timers() == 0);
  }
  // The server closes its ends in its own time.
  Gateway other(server);
  REQUIRE(other.host.run_until([&] { return server.running() == 0; }));
  other.close();
  CHECK(open_descriptors() <= before + 2);  // the loop of `other`
}

TEST_CASE("the library leaves the address space when it is closed") {
  ScriptedServer server(always(ok("{}")));
  {
    Gateway gateway(server);
    Call call;
    REQUIRE(gateway.run(call));
    CHECK(is_mapped("/http.so"));
  }
  CHECK_FALSE(is_mapped("/http.so"));
}

TEST_CASE("a worker without a port is refused with its URL") {
  CHECK_THROWS_WITH(Gateway(WorkerText{.host = "engine", .port = 0}),
                    "worker URL `http://engine:0` names no host and port to connect to");
}

TEST_CASE("options that contradict each other are refused by name") {
  const WorkerText worker{.port = 1};
  CHECK_THROWS_WITH(Gateway(worker, {{"client_cert", "\"/some/cert.pem\""}}),
                    "options `client_cert` and `client_key` go together: set both or none");
}

TEST_CASE("two loops work side by side, each with connections of its own") {
  ScriptedServer server(always(ok("{}")));
  Gateway gateway(WorkerText{.port = server.port()}, {}, 3);
  gateway.host.start();
  constexpr int kCalls = 200;
  std::atomic<int> left{2 * kCalls};
  std::vector<Call> calls(2);
  for (std::uint32_t loop = 0; loop < 2; ++loop) {
    Call& call = calls[loop];
    call.body = {"{}"};
    call.on_end = [&gateway, &call, &left] {
      CHECK(call.kind == SMG_END_COMPLETE);
      --left;
      if (call.ends < kCalls) gateway.start(call);
    };
    gateway.host.run_on(loop, [&] { gateway.start(call); });
  }
  const std::uint64_t end = monotonic() + 20 * kSecond;
  while (left > 0 && monotonic() < end) std::this_thread::yield();
  CHECK(left == 0);
  CHECK(server.accepted() == 2);
  for (std::uint32_t loop = 0; loop < 3; ++loop) {
    gateway.host.run_on(loop, [&] { gateway.library.api->quiesce(gateway.endpoint); });
  }
  gateway.host.run_on(2, [&] {
    gateway.library.api->close(gateway.endpoint);
    gateway.library.api->destroy(gateway.self);
    gateway.self = nullptr;
  });
  gateway.host.stop();
}
