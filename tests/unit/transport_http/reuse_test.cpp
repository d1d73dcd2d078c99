#include <doctest/doctest.h>

#include <atomic>

#include "fixture.hpp"

using namespace smg::test;

TEST_CASE("connections are used again, the last one first") {
  std::atomic<int> last{0};
  ScriptedServer server([&](Peer& peer) {
    while (!peer.read_request().empty()) {
      last = peer.number();
      peer.send(ok("{}"));
    }
  });
  Gateway gateway(server);
  Call first;
  Call second;
  gateway.start(first);
  gateway.start(second);
  REQUIRE(gateway.host.run_until([&] { return first.ended() && second.ended(); }));
  CHECK(server.accepted() == 2);
  Call third;
  REQUIRE(gateway.run(third));
  const int used = last;
  for (int i = 0; i < 5; ++i) {
    Call call;
    REQUIRE(gateway.run(call));
    CHECK(last == used);
  }
  CHECK(server.accepted() == 2);
}

TEST_CASE("a call started from inside end() takes the connection that has just become free") {
  ScriptedServer server(always(ok("{}")));
  Gateway gateway(server);
  int left = 20;
  Call call;
  call.on_end = [&] {
    if (--left > 0) gateway.start(call);
  };
  gateway.start(call);
  REQUIRE(gateway.host.run_until([&] { return left == 0; }));
  CHECK(call.ends == 20);
  CHECK(server.accepted() == 1);
}

TEST_CASE("a request over a connection that turns out stale is sent again at once") {
  for (const std::string how : {"closed", "reset"}) {
    CAPTURE(how);
    ScriptedServer server([&](Peer& peer) {
      peer.read_request();
      peer.send(ok("{}"));
      if (peer.number() > 1) return static_cast<void>(peer.wait_closed());
      peer.read_request();  // and no answer to this one
      if (how == "reset") peer.reset();
    });
    Gateway gateway(server);
    Call first;
    REQUIRE(gateway.run(first));
    Call second;
    second.body = {"{\"prompt\":\"hello\"}"};
    REQUIRE(gateway.run(second));
    CHECK(second.kind == SMG_END_COMPLETE);
    CHECK(second.resends == 1);
    CHECK(second.answer == "{}");
    CHECK(second.heads == 1);
    CHECK(second.releases == 1);
    CHECK(server.accepted() == 2);
  }
}

TEST_CASE("a request is sent again once only, and never after a first byte or against its flag") {
  // Closes every second request of a connection; `partial` begins an answer first.
  const auto script = [](const char* partial, bool always_close) {
    return [=](Peer& peer) {
      if (always_close && peer.number() > 1) return static_cast<void>(peer.read_request());
      peer.read_request();
      peer.send(ok("{}"));
      peer.read_request();
      peer.send(partial);
    };
  };
  SUBCASE("the new connection breaks too") {
    ScriptedServer server(script("", true));
    Gateway gateway(server);
    Call first;
    REQUIRE(gateway.run(first));
    Call second;
    REQUIRE(gateway.run(second));
    CHECK(second.kind == SMG_END_CONNECTION_LOST);
    CHECK(second.resends == 1);
    CHECK(second.phase == SMG_PHASE_SENT);
    CHECK(server.accepted() == 2);
  }
  SUBCASE("part of an answer came") {
    ScriptedServer server(script("HTTP/1.1 200 O", false));
    Gateway gateway(server);
    Call first;
    REQUIRE(gateway.run(first));
    Call second;
    REQUIRE(gateway.run(second));
    CHECK(second.kind == SMG_END_CONNECTION_LOST);
    CHECK(second.resends == 0);
    CHECK(server.accepted() == 1);
  }
  SUBCASE("the request says so") {
    ScriptedServer server(script("", false));
    Gateway gateway(server);
    Call first;
    REQUIRE(gateway.run(first));
    Call second;
    second.flags = SMG_REQUEST_NO_RESEND;
    REQUIRE(gateway.run(second));
    CHECK(second.kind == SMG_END_CONNECTION_LOST);
    CHECK(second.resends == 0);
    CHECK(server.accepted() == 1);
  }
  SUBCASE("the connection was a fresh one") {
    ScriptedServer server([](Peer& peer) { peer.read_request(); });
    Gateway gateway(server);
    Call call;
    REQUIRE(gateway.run(call));
    CHECK(call.kind == SMG_END_CONNECTION_LOST);
    CHECK(call.resends == 0);
    CHECK(call.detail == "the connection was closed before an answer came");
    CHECK(server.accepted() == 1);
  }
}

TEST_CASE("a large request over a stale connection is sent again whole") {
  std::string heard;
  ScriptedServer server([&](Peer& peer) {
    const std::string request = peer.read_request();
    if (peer.number() > 1) heard = request;
    peer.send(ok("{}"));
    if (peer.number() == 1) peer.reset();
    peer.wait_closed();
  });
  Gateway gateway(server);
  Call first;
  REQUIRE(gateway.run(first));
  Call second;
  second.body = {std::string(4 * 1024 * 1024, 'q'), "end"};
  REQUIRE(gateway.run(second));
  CHECK(second.kind == SMG_END_COMPLETE);
  CHECK(heard.size() > 4 * 1024 * 1024);
  CHECK(heard.ends_with("qqend"));
}

TEST_CASE("a connection that the engine closes leaves the pool before anybody takes it") {
  std::atomic<bool> close{false};
  ScriptedServer server([&](Peer& peer) {
    peer.read_request();
    peer.send(ok("{}"));
    while (!close) std::this_thread::yield();
  });
  Gateway gateway(server);
  Call first;
  REQUIRE(gateway.run(first));
  CHECK(gateway.host.loop().watched() == 1);
  close = true;
  REQUIRE(gateway.host.run_until([&] { return gateway.host.loop().watched() == 0; }));
  Call second;
  REQUIRE(gateway.run(second));
  CHECK(second.resends == 0);
  CHECK(server.accepted() == 2);
}

TEST_CASE("bytes on an idle connection end it") {
  std::atomic<bool> babble{false};
  ScriptedServer server([&](Peer& peer) {
    peer.read_request();
    peer.send(ok("{}"));
    while (!babble) std::this_thread::yield();
    peer.send("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
    peer.wait_closed();
  });
  Gateway gateway(server);
  Call first;
  REQUIRE(gateway.run(first));
  babble = true;
  REQUIRE(gateway.host.run_until([&] { return gateway.host.loop().watched() == 0; }));
  Call second;
  REQUIRE(gateway.run(second));
  CHECK(second.status == 200);
}

TEST_CASE("bytes that came before the loop heard of them are nobody's answer") {
  std::atomic<bool> babble{false};
  std::atomic<bool> babbled{false};
  ScriptedServer server([&](Peer& peer) {
    peer.read_request();
    peer.send(ok("mine"));
    if (peer.number() == 1) {
      while (!babble) std::this_thread::yield();
      peer.send(ok("unasked"));
      babbled = true;
    }
    peer.wait_closed();
  });
  Gateway gateway(server);
  Call first;
  REQUIRE(gateway.run(first));
  babble = true;
  while (!babbled) std::this_thread::yield();
  // The bytes are in the socket, and no turn of the loop has passed.
  Call second;
  REQUIRE(gateway.run(second));
  CHECK(second.answer == "mine");
  CHECK(server.accepted() == 2);
}

TEST_CASE("idle connections are closed after their time, and not before") {
  ScriptedServer server(always(ok("{}")));
  Gateway gateway(server);
  Call first;
  REQUIRE(gateway.run(first));
  gateway.host.advance(2 * kSecond);
  gateway.host.loop().turn(1);
  CHECK(gateway.host.loop().watched() == 1);
  Call second;
  REQUIRE(gateway.run(second));
  gateway.host.advance(2 * kSecond);
  gateway.host.loop().turn(1);
  CHECK(gateway.host.loop().watched() == 1);  // counted from the last use
  gateway.host.advance(kSecond + kSecond / 10);
  gateway.host.loop().turn(1);
  gateway.host.loop().turn(1);
  CHECK(gateway.host.loop().watched() == 0);
  CHECK(gateway.host.loop().timers() == 0);
  Call third;
  REQUIRE(gateway.run(third));
  CHECK(third.resends == 0);
  CHECK(server.accepted() == 2);
}

TEST_CASE("an idle time of zero keeps connections for good") {
  ScriptedServer server(always(ok("{}")));
  Gateway gateway(server, {{"idle_timeout_secs", "0"}});
  Call call;
  REQUIRE(gateway.run(call));
  gateway.host.advance(100'000 * kSecond);
  for (int i = 0; i < 3; ++i) gateway.host.loop().turn(1);
  CHECK(gateway.host.loop().watched() == 1);
}

TEST_CASE("no more idle connections are kept than allowed") {
  for (const int limit : {0, 2}) {
    ScriptedServer server(always(ok("{}")));
    Gateway gateway(server, {{"max_idle_per_worker", std::to_string(limit)}});
    std::vector<Call> calls(5);
    for (Call& call : calls) gateway.start(call);
    REQUIRE(gateway.host.run_until([&] {
      return std::all_of(calls.begin(), calls.end(), [](const Call& call) { return call.ended(); });
    }));
    CHECK(gateway.host.loop().watched() == static_cast<std::size_t>(limit));
  }
}
