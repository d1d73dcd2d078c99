#include <doctest/doctest.h>

#include <atomic>
#include <mutex>

#include "fixture.hpp"

using namespace smg::test;

namespace {

// Keeps what the server read.
struct Heard {
  std::mutex mutex;
  std::string text;
  void set(std::string value) {
    const std::lock_guard lock(mutex);
    text = std::move(value);
  }
  std::string get() {
    const std::lock_guard lock(mutex);
    return text;
  }
};

ScriptedServer::Script hear(Heard& heard) {
  return [&heard](Peer& peer) {
    for (std::string request; !(request = peer.read_request()).empty();) {
      heard.set(request);
      peer.send(ok("{}"));
    }
  };
}

}  // namespace

TEST_CASE("a request goes out with its headers and pieces, and the answer comes back") {
  Heard heard;
  ScriptedServer server(hear(heard));
  Gateway gateway(server);
  Call call;
  call.headers.emplace_back("x-request-id", "abc");
  call.body = {"{\"a\":", "", "1}"};
  REQUIRE(gateway.run(call));
  CHECK(heard.get() ==
        "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) +
            "\r\ncontent-type: application/json\r\nx-request-id: abc\r\n"
            "Content-Length: 7\r\n\r\n{\"a\":1}");
  CHECK(call.kind == SMG_END_COMPLETE);
  CHECK(call.phase == SMG_PHASE_DATA);
  CHECK(call.status == 200);
  CHECK(call.content_length == 2);
  CHECK(call.header("Content-Length") == "2");
  CHECK(call.answer == "{}");
  CHECK(call.detail.empty());
  CHECK(call.ends == 1);
  CHECK(call.stream != 0);
}

TEST_CASE("the worker's base path stands in front, without a doubled slash") {
  for (const char* base : {"/engine/a", "/engine/a/"}) {
    Heard heard;
    ScriptedServer server(hear(heard));
    Gateway gateway(WorkerText{.port = server.port(), .base_path = base});
    Call call;
    call.path = "/v1/models?x=1";
    REQUIRE(gateway.run(call));
    CHECK(heard.get().starts_with("POST /engine/a/v1/models?x=1 HTTP/1.1\r\n"));
  }
}

TEST_CASE("an IPv6 host stands in brackets in the Host field") {
  Heard heard;
  ScriptedServer server(hear(heard));
  Gateway gateway(WorkerText{.host = "fd00::7", .port = 8000});
  gateway.host.names["fd00::7"] = {TestHost::address("127.0.0.1", server.port())};
  Call call;
  REQUIRE(gateway.run(call));
  CHECK(heard.get().find("\r\nHost: [fd00::7]:8000\r\n") != std::string::npos);
}

TEST_CASE("the usual port is left out of the Host field") {
  Heard heard;
  ScriptedServer server(hear(heard));
  Gateway gateway(WorkerText{.host = "engine.test", .port = 80});
  gateway.host.names["engine.test"] = {TestHost::address("127.0.0.1", server.port())};
  Call call;
  REQUIRE(gateway.run(call));
  CHECK(heard.get().find("\r\nHost: engine.test\r\n") != std::string::npos);
}

TEST_CASE("a request without a body announces a length only where its method usually has a body") {
  Heard heard;
  ScriptedServer server(hear(heard));
  Gateway gateway(server);
  Call get;
  get.method = "GET";
  REQUIRE(gateway.run(get));
  CHECK(heard.get().find("Content-Length") == std::string::npos);
  Call post;
  REQUIRE(gateway.run(post));
  CHECK(heard.get().find("Content-Length: 0\r\n") != std::string::npos);
}

TEST_CASE("a head of many kilobytes and a body of many pieces arrive whole") {
  Heard heard;
  ScriptedServer server(hear(heard));
  Gateway gateway(server);
  Call call;
  const std::string value(30'000, 'v');
  call.headers.emplace_back("x-long", value);
  std::string whole;
  for (int i = 0; i < 500; ++i) {
    call.body.push_back(std::to_string(i) + ",");
    whole += call.body.back();
  }
  REQUIRE(gateway.run(call));
  CHECK(call.kind == SMG_END_COMPLETE);
  CHECK(heard.get().find("x-long: " + value + "\r\n") != std::string::npos);
  CHECK(heard.get().ends_with("\r\n\r\n" + whole));
}

TEST_CASE("a large body goes to an engine that reads slowly, in order and whole") {
  std::atomic<bool> read_on{false};
  Heard heard;
  ScriptedServer server([&](Peer& peer) {
    while (!read_on) std::this_thread::yield();
    heard.set(peer.read_request());
    peer.send(ok("{}"));
  });
  Gateway gateway(server);
  Call call;
  std::string whole;
  for (int i = 0; i < 16; ++i) {
    call.body.emplace_back(1024 * 1024, static_cast<char>('a' + i));
    whole += call.body.back();
  }
  gateway.start(call);
  // It does not fit into the socket: the request stays unreleased.
  for (int i = 0; i < 50; ++i) gateway.host.loop().turn(1);
  CHECK(call.releases == 0);
  read_on = true;
  REQUIRE(gateway.host.run_until([&] { return call.ended(); }));
  CHECK(call.kind == SMG_END_COMPLETE);
  CHECK(call.releases == 1);
  CHECK(heard.get().ends_with(whole));
}

TEST_CASE(
    "an answer that comes before the body is sent is delivered, and the connection not used "
    "again") {
  ScriptedServer server([](Peer& peer) {
    peer.send("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig");
    peer.wait_closed();
  });
  Gateway gateway(server);
  Call call;
  call.body.emplace_back(32 * 1024 * 1024, 'x');
  REQUIRE(gateway.run(call));
  CHECK(call.kind == SMG_END_COMPLETE);
  CHECK(call.status == 413);
  CHECK(call.answer == "big");
  Call second;
  REQUIRE(gateway.run(second));
  CHECK(server.accepted() == 2);
}

TEST_CASE("an answer sent by an engine that hangs up in the middle of the body still counts") {
  std::atomic<bool> go{false};
  ScriptedServer server([&](Peer& peer) {
    peer.send("HTTP/1.1 400 Bad\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno");
    peer.wait_closed();
  });
  Gateway gateway(server);
  Call call;
  call.body.emplace_back(8 * 1024 * 1024, 'x');
  REQUIRE(gateway.run(call));
  CHECK(call.kind == SMG_END_COMPLETE);
  CHECK(call.status == 400);
}

TEST_CASE(
    "the request is released once: when written, or on the first byte where it may be sent again") {
  ScriptedServer server(always(ok("{}")));
  Gateway gateway(server);
  Call fresh;
  int heads_at_release = -1;
  fresh.on_release = [&] { heads_at_release = fresh.heads; };
  REQUIRE(gateway.run(fresh));
  CHECK(fresh.releases == 1);
  CHECK(heads_at_release == 0);

  Call reused;
  bool released_inside_start = false;
  reused.on_release = [&] { released_inside_start = reused.stream == 0; };
  gateway.start(reused);
  CHECK(reused.releases == 0);  // a stale connection may still ask for it again
  REQUIRE(gateway.host.run_until([&] { return reused.ended(); }));
  CHECK(reused.releases == 1);
  CHECK(server.accepted() == 1);

  Call once;
  once.flags = SMG_REQUEST_NO_RESEND;
  gateway.start(once);
  CHECK(once.releases == 1);
  REQUIRE(gateway.host.run_until([&] { return once.ended(); }));
  CHECK_FALSE(released_inside_start);
}
