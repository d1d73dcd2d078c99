#include <doctest/doctest.h>

#include "fixture.hpp"

using namespace smg::test;

namespace {

const std::string kChunked =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n"
    "8\r\ndata: a\n\r\n8;x=y\r\ndata: b\n\r\n0\r\nX-Trailer: 1\r\n\r\n";

struct Exchange {
  std::string name;
  std::string answer;
};

}  // namespace

TEST_CASE("a chunked answer loses its framing and keeps its pieces") {
  ScriptedServer server(always(kChunked));
  Gateway gateway(server);
  for (int i = 0; i < 2; ++i) {
    Call call;
    REQUIRE(gateway.run(call));
    CHECK(call.kind == SMG_END_COMPLETE);
    CHECK(call.content_length == -1);
    CHECK(call.answer == "data: a\ndata: b\n");
    CHECK(call.pieces == 2);
    CHECK(call.header("Transfer-Encoding") == "chunked");
    CHECK(call.header("X-Trailer").empty());
  }
  CHECK(server.accepted() == 1);
}

TEST_CASE("an answer that comes byte by byte is the same answer") {
  for (const std::string& answer : {kChunked, ok("data: a\ndata: b\n")}) {
    ScriptedServer server([&](Peer& peer) {
      while (!peer.read_request().empty()) {
        for (const char byte : answer) peer.send({&byte, 1});
      }
    });
    Gateway gateway(server);
    Call call;
    REQUIRE(gateway.run(call));
    CHECK(call.kind == SMG_END_COMPLETE);
    CHECK(call.answer == "data: a\ndata: b\n");
    Call second;
    REQUIRE(gateway.run(second));
    CHECK(second.answer == call.answer);
    CHECK(server.accepted() == 1);
  }
}

TEST_CASE("a stream of events is delivered as it comes, not when it ends") {
  std::atomic<int> step{0};
  ScriptedServer server([&](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 20; ++i) {
      while (step < i) std::this_thread::yield();
      peer.send("5\r\ntoken\r\n");
    }
    peer.send("0\r\n\r\n");
    peer.wait_closed();
  });
  Gateway gateway(server);
  Call call;
  call.on_data = [&](std::string_view) {
    ++step;  // the next one is sent only now
    return SMG_CONTINUE;
  };
  REQUIRE(gateway.run(call));
  CHECK(call.pieces == 20);
}

TEST_CASE("a body without framing lasts until the connection ends") {
  ScriptedServer server([](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\n\r\nall of ");
    peer.send("it");
  });
  Gateway gateway(server);
  Call call;
  REQUIRE(gateway.run(call));
  CHECK(call.kind == SMG_END_COMPLETE);
  CHECK(call.answer == "all of it");
}

TEST_CASE("answers to HEAD, 204 and 304 have no body whatever they announce") {
  struct Case {
    std::string method;
    std::string answer;
    int connections;  // a length on a 304 leaves doubt
  };
  const Case cases[] = {
      {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", 1},
      {"GET", "HTTP/1.1 204 No Content\r\n\r\n", 1},
      {"GET", "HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n", 1},
      {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", 2},
  };
  for (const auto& [method, answer, connections] : cases) {
    CAPTURE(answer);
    ScriptedServer server(always(answer));
    Gateway gateway(server);
    for (int i = 0; i < 2; ++i) {
      Call call;
      call.method = method;
      REQUIRE(gateway.run(call));
      CHECK(call.kind == SMG_END_COMPLETE);
      CHECK(call.phase == SMG_PHASE_HEAD);
      CHECK(call.answer.empty());
    }
    CHECK(server.accepted() == connections);
  }
}

TEST_CASE("interim answers are skipped") {
  ScriptedServer server(always(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok("real")));
  Gateway gateway(server);
  Call call;
  REQUIRE(gateway.run(call));
  CHECK(call.heads == 1);
  CHECK(call.status == 200);
  CHECK(call.header("Link").empty());
  CHECK(call.answer == "real");
}

TEST_CASE("a connection is not used again after an answer that leaves doubt") {
  const Exchange cases[] = {
      {"close is announced", ok("x", "Connection: close\r\n")},
      {"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx"},
      {"HTTP/1.0 that offers to stay",
       "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx"},
      {"bytes follow the answer", ok("x") + "HTTP/1.1 200 OK\r\n"},
      {"204 with a length", "HTTP/1.1 204 No Content\r\nContent-Length: 1\r\n\r\n"},
  };
  for (const auto& [name, answer] : cases) {
    CAPTURE(name);
    ScriptedServer server([&answer = answer](Peer& peer) {
      peer.read_request();
      peer.send(answer);
      peer.wait_closed();
    });
    Gateway gateway(server);
    for (int i = 0; i < 2; ++i) {
      Call call;
      REQUIRE(gateway.run(call));
      CHECK(call.kind == SMG_END_COMPLETE);
    }
    CHECK(server.accepted() == 2);
  }
}

TEST_CASE("an answer that breaks the protocol is the engine's fault") {
  const Exchange cases[] = {
      {"length and chunks",
       "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx"},
      {"bad status line", "HTTP/1.1 OK\r\n\r\n"},
      {"another protocol", "SSH-2.0-OpenSSH_9.2\r\n\r\n"},
      {"bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 1\n\nx"},
      {"a protocol switch", "HTTP/1.1 101 Switching Protocols\r\n\r\n"},
  };
  for (const auto& [name, answer] : cases) {
    CAPTURE(name);
    ScriptedServer server([&answer = answer](Peer& peer) {
      peer.read_request();
      peer.send(answer);
      peer.wait_closed();
    });
    Gateway gateway(server);
    Call call;
    REQUIRE(gateway.run(call));
    CHECK(call.kind == SMG_END_BAD_RESPONSE);
    CHECK(call.heads == 0);
    CHECK(call.phase == SMG_PHASE_SENT);
    CHECK(call.detail.starts_with("the answer is no valid HTTP: "));
  }
}

TEST_CASE("a chunk that breaks the protocol ends the stream after what was good") {
  ScriptedServer server([](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\nzz\r\n");
    peer.wait_closed();
  });
  Gateway gateway(server);
  Call call;
  REQUIRE(gateway.run(call));
  CHECK(call.kind == SMG_END_BAD_RESPONSE);
  CHECK(call.phase == SMG_PHASE_DATA);
  CHECK(call.answer == "ab");
}

TEST_CASE("a connection that ends in the middle is lost, not complete") {
  const Exchange cases[] = {
      {"in the head", "HTTP/1.1 200 OK\r\nConte"},
      {"in a body with a length", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"},
      {"in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"},
      {"before the last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"},
  };
  for (const bool reset : {false, true}) {
    for (const auto& [name, answer] : cases) {
      CAPTURE(name);
      CAPTURE(reset);
      std::atomic<bool> seen{false};
      ScriptedServer server([&, &answer = answer](Peer& peer) {
        peer.read_request();
        peer.send(answer);
        while (reset && !seen) std::this_thread::yield();
        if (reset) peer.reset();
      });
      Gateway gateway(server);
      Call call;
      gateway.start(call);
      if (reset) {
        // Only after the bytes were delivered: a reset may throw away what is under way.
        const bool has_head = answer.find("\r\n\r\n") != std::string::npos;
        REQUIRE(gateway.host.run_until([&] { return !has_head || call.heads == 1; }));
        seen = true;
      }
      REQUIRE(gateway.host.run_until([&] { return call.ended(); }));
      CHECK(call.kind == SMG_END_CONNECTION_LOST);
      CHECK(call.resends == 0);
      CHECK_FALSE(call.detail.empty());
      CHECK(call.ends == 1);
    }
  }
}

TEST_CASE("a head over the limit is refused") {
  ScriptedServer server([](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\n");
    while (peer.send("X-Fill: " + std::string(1000, 'x') + "\r\n")) {
    }
  });
  Gateway gateway(server);
  Call call;
  REQUIRE(gateway.run(call));
  CHECK(call.kind == SMG_END_BAD_RESPONSE);
  CHECK(call.heads == 0);
}
