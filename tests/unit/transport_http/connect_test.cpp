#include <doctest/doctest.h>

#include "fixture.hpp"

using namespace smg::test;

namespace {

// A port of 127.0.0.1 where nobody listens.
std::uint16_t closed_port() {
  ScriptedServer server([](Peer&) {});
  return server.port();
}

}  // namespace

TEST_CASE("a refused connection is told with address and reason") {
  Gateway gateway(WorkerText{.port = closed_port()});
  Call call;
  REQUIRE(gateway.run(call));
  CHECK(call.kind == SMG_END_CONNECT_FAILED);
  CHECK(call.phase == SMG_PHASE_CONNECT);
  CHECK(call.releases == 0);
  CHECK(call.detail.find("cannot connect to 127.0.0.1:") == 0);
  CHECK(call.detail.find("Connection refused") != std::string::npos);
}

TEST_CASE("a name that does not resolve is told with the name") {
  Gateway gateway(WorkerText{.host = "nowhere.test", .port = 80});
  Call call;
  REQUIRE(gateway.run(call));
  CHECK(call.kind == SMG_END_CONNECT_FAILED);
  CHECK(call.detail == "cannot resolve nowhere.test: no such name");
}

TEST_CASE("a connection that does not come about in time is given up") {
  BlackHole hole("127.0.0.4");
  Gateway gateway(WorkerText{.host = "127.0.0.4", .port = hole.port()});
  Call call;
  gateway.start(call);
  gateway.host.loop().turn(1);
  CHECK_FALSE(call.ended());
  gateway.host.advance(9 * kSecond);
  gateway.host.loop().turn(1);
  CHECK_FALSE(call.ended());
  gateway.host.advance(2 * kSecond);
  REQUIRE(gateway.host.run_until([&] { return call.ended(); }));
  CHECK(call.kind == SMG_END_TIMEOUT);
  CHECK(call.phase == SMG_PHASE_CONNECT);
  CHECK(call.detail.find("within 10 s") != std::string::npos);
  CHECK(gateway.host.loop().watched() == 0);
}

TEST_CASE("the deadline ends a call in every phase") {
  BlackHole hole("127.0.0.5");
  ScriptedServer server([](Peer& peer) {
    const std::string request = peer.read_request();
    if (request.find("/head") == std::string::npos) {
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
    }
    peer.wait_closed();
  });
  struct Case {
    const char* path;
    std::uint32_t phase;
  };
  for (const auto& [path, phase] : {Case{"/connect", SMG_PHASE_CONNECT},
                                    Case{"/head", SMG_PHASE_SENT}, Case{"/body", SMG_PHASE_DATA}}) {
    CAPTURE(path);
    const bool connects = phase != SMG_PHASE_CONNECT;
    Gateway gateway(WorkerText{.host = connects ? "127.0.0.1" : "127.0.0.5",
                               .port = connects ? server.port() : hole.port()});
    Call call;
    call.path = path;
    call.timeout = 5 * kSecond;
    gateway.start(call);
    REQUIRE(gateway.host.run_until([&] {
      return phase == SMG_PHASE_DATA ? call.pieces == 1 : call.releases == (connects ? 1 : 0);
    }));
    gateway.host.advance(4 * kSecond);
    gateway.host.loop().turn(1);
    CHECK_FALSE(call.ended());
    gateway.host.advance(2 * kSecond);
    REQUIRE(gateway.host.run_until([&] { return call.ended(); }));
    CHECK(call.kind == SMG_END_TIMEOUT);
    CHECK(call.phase == phase);
    gateway.host.loop().turn(1);
    CHECK(gateway.host.loop().watched() == 0);
    CHECK(gateway.host.loop().timers() == 0);
  }
}

TEST_CASE("the next address is tried when one fails") {
  ScriptedServer server(always(ok("{}")));
  Gateway gateway(WorkerText{.host = "engine.test", .port = 80});
  gateway.host.names["engine.test"] = {TestHost::address("127.0.0.1", closed_port()),
                                       TestHost::address("127.0.0.1", server.port())};
  Call call;
  REQUIRE(gateway.run(call));
  CHECK(call.kind == SMG_END_COMPLETE);
  CHECK(call.resends == 0);
}

TEST_CASE("when all addresses fail the last failure is told") {
  Gateway gateway(WorkerText{.host = "engine.test", .port = 80});
  gateway.host.names["engine.test"] = {TestHost::address("127.0.0.1", closed_port()),
                                       TestHost::address("127.0.0.1", closed_port())};
  Call call;
  REQUIRE(gateway.run(call));
  CHECK(call.kind == SMG_END_CONNECT_FAILED);
  CHECK(call.detail.find("none of the 2 addresses of engine.test worked") != std::string::npos);
}

TEST_CASE("an address that keeps us waiting gets company after a quarter of a second") {
  BlackHole hole("127.0.0.6");
  ScriptedServer server(always(ok("{}")));
  Gateway gateway(WorkerText{.host = "engine.test", .port = 80});
  gateway.host.names["engine.test"] = {TestHost::address("127.0.0.6", hole.port()),
                                       TestHost::address("127.0.0.1", server.port())};
  Call call;
  gateway.start(call);
  REQUIRE(gateway.host.run_until([&] { return gateway.host.loop().watched() == 1; }));
  gateway.host.loop().turn(1);
  CHECK(server.accepted() == 0);
  gateway.host.advance(kSecond / 4);
  REQUIRE(gateway.host.run_until([&] { return call.ended(); }));
  CHECK(call.kind == SMG_END_COMPLETE);
  CHECK(gateway.host.loop().watched() == 1);  // the loser is closed, the winner idle
}

TEST_CASE("address families take turns") {
  BlackHole first("127.0.0.7");
  BlackHole second("127.0.0.8");
  ScriptedServer server(always(ok("{}")));
  Gateway gateway(WorkerText{.host = "engine.test", .port = 80});
  // A mapped IPv4 address stands in for an IPv6 one where the machine has no IPv6.
  smg_address six = TestHost::address("::ffff:127.0.0.1", server.port());
  REQUIRE(six.family == 6);
  gateway.host.names["engine.test"] = {TestHost::address("127.0.0.7", first.port()),
                                       TestHost::address("127.0.0.8", second.port()), six};
  Call call;
  gateway.start(call);
  REQUIRE(gateway.host.run_until([&] { return gateway.host.loop().watched() == 1; }));
  gateway.host.advance(kSecond / 4);
  // The second try is the IPv6 address, although it is last in the list.
  REQUIRE(gateway.host.run_until([&] { return call.ended(); }));
  CHECK(call.kind == SMG_END_COMPLETE);
}
