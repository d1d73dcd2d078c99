#include <doctest/doctest.h>

#include <atomic>

#include "fixture.hpp"

using namespace smg::test;

namespace {

constexpr std::size_t kLarge = std::size_t{64} * 1024 * 1024;

std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
  return text;
}

// Answers with `body` as fast as the client takes it; `sent` counts.
ScriptedServer::Script pour(const std::string& body, std::atomic<std::size_t>& sent) {
  return [&](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
    for (std::size_t at = 0; at < body.size();) {
      const std::size_t part = std::min<std::size_t>(64 * 1024, body.size() - at);
      if (!peer.send({body.data() + at, part})) return;
      sent += part;
      at += part;
    }
    peer.wait_closed();
  };
}

// Turns until the engine has stopped sending for a while, by its own counter.
std::size_t settle(Gateway& gateway, const std::atomic<std::size_t>& sent) {
  std::size_t before = sent;
  int still = 0;
  REQUIRE(gateway.host.run_until([&] {
    still = sent == before ? still + 1 : 0;
    before = sent;
    return still > 50;
  }));
  return before;
}

}  // namespace

TEST_CASE("a paused stream slows the engine down, and loses nothing") {
  const std::string body = pattern(kLarge);
  std::atomic<std::size_t> sent{0};
  ScriptedServer server(pour(body, sent));
  Gateway gateway(server);
  Call call;
  call.on_data = [](std::string_view) { return SMG_PAUSE; };
  gateway.start(call);
  REQUIRE(gateway.host.run_until([&] { return call.pieces > 0; }));
  const std::size_t stuck = settle(gateway, sent);
  CHECK(stuck < body.size());
  CHECK(call.pieces == 1);
  CHECK(call.answer.size() <= 128 * 1024);
  call.on_data = nullptr;
  gateway.resume(call);
  REQUIRE(gateway.host.run_until([&] { return call.ended(); }, 60));
  CHECK(call.kind == SMG_END_COMPLETE);
  CHECK((call.answer == body));
}

TEST_CASE("pausing after every piece delivers them one by one") {
  ScriptedServer server(
      always("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
             "1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n"));
  Gateway gateway(server);
  for (int round = 0; round < 2; ++round) {
    Call call;
    call.on_head = [] { return SMG_PAUSE; };
    call.on_data = [](std::string_view) { return SMG_PAUSE; };
    gateway.start(call);
    for (int pieces = 0; pieces <= 3; ++pieces) {
      REQUIRE(gateway.host.run_until([&] { return call.heads == 1 && call.pieces == pieces; }));
      for (int i = 0; i < 5; ++i) gateway.host.loop().turn(1);
      CHECK(call.pieces == pieces);
      CHECK_FALSE(call.ended());
      gateway.resume(call);
    }
    REQUIRE(gateway.host.run_until([&] { return call.ended(); }));
    CHECK(call.answer == "abc");
  }
  CHECK(server.accepted() == 1);
}

TEST_CASE("pause and resume from outside, doubled and out of turn, do no harm") {
  const std::string body = pattern(4 * 1024 * 1024);
  std::atomic<std::size_t> sent{0};
  ScriptedServer server(pour(body, sent));
  Gateway gateway(server);
  Call call;
  gateway.start(call);
  gateway.resume(call);
  int turns = 0;
  REQUIRE(gateway.host.run_until([&] {
    ++turns;
    if (turns % 3 == 0) {
      gateway.pause(call);
      gateway.pause(call);
    } else {
      gateway.resume(call);
      gateway.resume(call);
    }
    return call.ended();
  }));
  CHECK((call.answer == body));
  gateway.pause(call);
  gateway.resume(call);
}

TEST_CASE("a pause from inside data() holds what follows in the same buffer") {
  ScriptedServer server(
      always("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n"));
  Gateway gateway(server);
  Call call;
  call.on_data = [&](std::string_view) {
    gateway.pause(call);
    return SMG_CONTINUE;
  };
  gateway.start(call);
  REQUIRE(gateway.host.run_until([&] { return call.pieces == 1; }));
  for (int i = 0; i < 5; ++i) gateway.host.loop().turn(1);
  CHECK(call.answer == "a");
  gateway.resume(call);
  REQUIRE(gateway.host.run_until([&] { return call.pieces == 2; }));
  gateway.resume(call);
  REQUIRE(gateway.host.run_until([&] { return call.ended(); }));
  CHECK(call.answer == "ab");
}

TEST_CASE("one fast stream does not hold the loop: each turn takes its share only") {
  const std::string body = pattern(16 * 1024 * 1024);
  std::atomic<std::size_t> sent{0};
  ScriptedServer server(pour(body, sent));
  Gateway gateway(server);
  Call call;
  std::uint64_t turn = 0;
  std::size_t in_turn = 0;
  std::size_t most = 0;
  call.on_data = [&](std::string_view data) {
    if (turn != gateway.host.loop().turns()) in_turn = 0;
    turn = gateway.host.loop().turns();
    in_turn += data.size();
    most = std::max(most, in_turn);
    return SMG_CONTINUE;
  };
  // The engine is given a head start, so that there is always more to read.
  gateway.start(call);
  REQUIRE(gateway.host.run_until([&] { return call.ended(); }, 60));
  CHECK((call.answer == body));
  // By an event and by the deferred task, at most one budget each.
  CHECK(most <= 2 * (256 + 128) * 1024);
}

TEST_CASE("a connection that ends while paused is told of after resume, behind the data") {
  ScriptedServer server([](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\n\r\nuntil the end");
  });
  Gateway gateway(server);
  Call call;
  call.on_head = [] { return SMG_PAUSE; };
  gateway.start(call);
  REQUIRE(gateway.host.run_until([&] { return call.heads == 1 && server.running() == 0; }));
  for (int i = 0; i < 5; ++i) gateway.host.loop().turn(1);
  CHECK_FALSE(call.ended());
  gateway.resume(call);
  REQUIRE(gateway.host.run_until([&] { return call.ended(); }));
  CHECK(call.kind == SMG_END_COMPLETE);
  CHECK(call.answer == "until the end");
}
