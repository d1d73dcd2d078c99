#include <doctest/doctest.h>

#include <atomic>

#include "fixture.hpp"

using namespace smg::test;

namespace {

// Streams tokens until the client goes; `gone` counts the clients that went.
ScriptedServer::Script endless(std::atomic<int>& gone) {
  return [&gone](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (peer.send("5\r\ntoken\r\n")) std::this_thread::yield();
    ++gone;
  };
}

}  // namespace

TEST_CASE("cancel from inside any sink call closes the connection, and nothing follows") {
  for (const std::string where : {"head", "data", "release"}) {
    CAPTURE(where);
    std::atomic<int> gone{0};
    ScriptedServer server(endless(gone));
    Gateway gateway(server);
    Call call;
    bool cancelled = false;
    const auto cancel = [&] {
      cancelled = true;
      gateway.cancel(call);
      gateway.cancel(call);
      return SMG_PAUSE;
    };
    if (where == "head") call.on_head = cancel;
    if (where == "data") call.on_data = [&](std::string_view) { return cancel(); };
    if (where == "release") call.on_release = [&] { cancel(); };
    gateway.start(call);
    REQUIRE(gateway.host.run_until([&] { return cancelled && gone == 1; }));
    CHECK(call.heads == (where == "release" ? 0 : 1));
    CHECK(call.pieces == (where == "data" ? 1 : 0));
    CHECK(call.ends == 0);
    CHECK(gateway.host.loop().watched() == 0);
  }
}

TEST_CASE("cancel from outside closes the connection at once") {
  std::atomic<int> gone{0};
  ScriptedServer server(endless(gone));
  Gateway gateway(server);
  Call call;
  gateway.start(call);
  REQUIRE(gateway.host.run_until([&] { return call.pieces > 3; }));
  gateway.cancel(call);
  const int pieces = call.pieces;
  REQUIRE(gateway.host.run_until([&] { return gone == 1; }));
  CHECK(call.pieces == pieces);
  CHECK(call.ends == 0);
}

TEST_CASE("cancel while waiting for an answer, paused, or with half the request written") {
  for (const std::string when : {"waiting", "paused", "writing"}) {
    CAPTURE(when);
    std::atomic<int> gone{0};
    std::atomic<bool> heard{false};
    ScriptedServer server([&](Peer& peer) {
      if (when != "writing") peer.read_request();
      heard = true;
      if (when == "paused") peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
      if (when == "writing") {
        while (gone == 0) std::this_thread::yield();
        return;
      }
      if (peer.wait_closed()) ++gone;
    });
    Gateway gateway(server);
    Call call;
    call.on_head = [] { return SMG_PAUSE; };
    if (when == "writing") call.body.emplace_back(32 * 1024 * 1024, 'x');
    gateway.start(call);
    REQUIRE(gateway.host.run_until([&] { return heard && (when != "paused" || call.heads == 1); }));
    gateway.cancel(call);
    if (when == "writing") ++gone;
    REQUIRE(gateway.host.run_until([&] { return gone == 1; }));
    CHECK(call.ends == 0);
    CHECK(gateway.host.loop().watched() == 0);
  }
}

TEST_CASE("cancel while the name is resolved or the connection comes about") {
  BlackHole hole("127.0.0.3");
  for (const bool resolving : {true, false}) {
    Gateway gateway(WorkerText{.host = "engine.test", .port = hole.port()});
    gateway.host.names["engine.test"] = {TestHost::address("127.0.0.3", hole.port())};
    Call call;
    gateway.start(call);
    if (!resolving) {
      REQUIRE(gateway.host.run_until([&] { return gateway.host.loop().watched() == 1; }));
    }
    gateway.cancel(call);
    for (int i = 0; i < 5; ++i) gateway.host.loop().turn(1);
    CHECK(call.ends == 0);
    CHECK(gateway.host.loop().watched() == 0);
    CHECK(gateway.host.loop().timers() == 0);
  }
}

TEST_CASE("the number of an ended stream means nothing, also when its place is taken again") {
  ScriptedServer server(always(ok("{}")));
  Gateway gateway(server);
  Call first;
  REQUIRE(gateway.run(first));
  Call second;
  gateway.start(second);
  CHECK(second.stream != first.stream);
  gateway.cancel(first);
  gateway.pause(first);
  gateway.resume(first);
  gateway.library.api->cancel(gateway.self, 0);
  gateway.library.api->cancel(gateway.self, 0xffffffffffffffffu);
  REQUIRE(gateway.host.run_until([&] { return second.ended(); }));
  CHECK(second.kind == SMG_END_COMPLETE);
  CHECK(first.ends == 1);
}

TEST_CASE("a new call may start from inside any sink call") {
  ScriptedServer server(always(ok("{}")));
  Gateway gateway(server);
  for (const std::string where : {"head", "data", "end"}) {
    CAPTURE(where);
    Call first;
    Call second;
    const auto next = [&] {
      gateway.start(second);
      return SMG_CONTINUE;
    };
    if (where == "head") first.on_head = next;
    if (where == "data") first.on_data = [&](std::string_view) { return next(); };
    if (where == "end") first.on_end = [&] { next(); };
    gateway.start(first);
    REQUIRE(gateway.host.run_until([&] { return first.ended() && second.ended(); }));
    CHECK(first.answer == "{}");
    CHECK(second.answer == "{}");
  }
}

TEST_CASE("cancelling one call and starting the next from inside head() keeps them apart") {
  ScriptedServer server([](Peer& peer) {
    const std::string request = peer.read_request();
    if (request.find("/bad") != std::string::npos) {
      peer.send("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy");
    } else {
      peer.send(ok("good"));
    }
    peer.wait_closed();
  });
  Gateway gateway(server);
  Call bad;
  Call good;
  bad.path = "/bad";
  bad.on_head = [&] {
    gateway.cancel(bad);
    gateway.start(good);
    return SMG_PAUSE;
  };
  gateway.start(bad);
  REQUIRE(gateway.host.run_until([&] { return good.ended(); }));
  CHECK(bad.answer.empty());
  CHECK(bad.ends == 0);
  CHECK(good.answer == "good");
}
