#include <doctest/doctest.h>

#include <atomic>

#include "fixture.hpp"
#include "tls_fixture.hpp"

using namespace smg::test;

namespace {

std::map<std::string, std::string> trusting() {
  return {{"ca_file", "\"" + certificates().authority() + "\""}};
}

// A worker https://engine.test that is `server`.
std::unique_ptr<Gateway> gateway_to(const ScriptedServer& server,
                                    std::map<std::string, std::string> options = trusting(),
                                    const std::string& host = "engine.test") {
  auto gateway = std::make_unique<Gateway>(
      WorkerText{.scheme = "https", .host = host, .port = server.port()}, std::move(options));
  gateway->host.names[host] = {TestHost::address("127.0.0.1", server.port())};
  return gateway;
}

}  // namespace

TEST_CASE("an https worker is served, and its connection used again") {
  Tls tls("engine");
  ScriptedServer server(always(ok("{\"secure\":true}")), tls.context);
  const auto gateway = gateway_to(server);
  for (int i = 0; i < 3; ++i) {
    Call call;
    call.body = {"{", "}"};
    REQUIRE(gateway->run(call));
    CHECK(call.detail == "");
    CHECK(call.kind == SMG_END_COMPLETE);
    CHECK(call.answer == "{\"secure\":true}");
  }
  CHECK(server.accepted() == 1);
}

TEST_CASE("a certificate for an address is good for a worker given by address") {
  Tls tls("address");
  ScriptedServer server(always(ok("{}")), tls.context);
  Gateway gateway(WorkerText{.scheme = "https", .port = server.port()}, trusting());
  Call call;
  REQUIRE(gateway.run(call));
  CHECK(call.kind == SMG_END_COMPLETE);
}

TEST_CASE("a certificate of another name, or of nobody known, is refused and no byte sent") {
  Tls tls("engine");
  std::atomic<int> requests{0};
  ScriptedServer server(
      [&](Peer& peer) {
        if (!peer.read_request().empty()) ++requests;
        peer.send(ok("{}"));
      },
      tls.context);
  Call other;
  REQUIRE(gateway_to(server, trusting(), "another.test")->run(other));
  CHECK(other.kind == SMG_END_CONNECT_FAILED);
  CHECK(other.phase == SMG_PHASE_CONNECT);
  CHECK(other.detail.find("the certificate is refused: hostname mismatch") != std::string::npos);

  Call address;
  Gateway by_address(WorkerText{.scheme = "https", .port = server.port()}, trusting());
  REQUIRE(by_address.run(address));
  CHECK(address.kind == SMG_END_CONNECT_FAILED);
  CHECK(address.detail.find("IP address mismatch") != std::string::npos);

  Call unknown;
  REQUIRE(gateway_to(server, {})->run(unknown));
  CHECK(unknown.kind == SMG_END_CONNECT_FAILED);
  CHECK(unknown.detail.find("the certificate is refused: ") != std::string::npos);
  CHECK(requests == 0);
}

TEST_CASE("verification can be switched off, and the log says so") {
  Tls tls("engine");
  ScriptedServer server(always(ok("{}")), tls.context);
  const auto gateway = gateway_to(server, {{"insecure_skip_verify", "true"}}, "another.test");
  Call call;
  REQUIRE(gateway->run(call));
  CHECK(call.kind == SMG_END_COMPLETE);
  REQUIRE(gateway->host.log_lines().size() == 1);
  CHECK(gateway->host.log_lines()[0].find("insecure_skip_verify is on") == 0);
}

TEST_CASE(
    "a server that speaks no TLS fails the connection, one that hangs runs into the time limit") {
  ScriptedServer plain([](Peer& peer) {
    peer.send("HTTP/1.1 400 Bad Request\r\n\r\n");
    peer.wait_closed();
  });
  Call call;
  REQUIRE(gateway_to(plain)->run(call));
  CHECK(call.kind == SMG_END_CONNECT_FAILED);
  CHECK(call.detail.find("TLS to engine.test:") == 0);

  ScriptedServer silent([](Peer& peer) { peer.wait_closed(); });
  const auto gateway = gateway_to(silent);
  Call waiting;
  gateway->start(waiting);
  REQUIRE(gateway->host.run_until([&] { return silent.accepted() == 1; }));
  gateway->host.advance(11 * kSecond);
  REQUIRE(gateway->host.run_until([&] { return waiting.ended(); }));
  CHECK(waiting.kind == SMG_END_TIMEOUT);
  CHECK(waiting.phase == SMG_PHASE_CONNECT);

  ScriptedServer closing([](Peer&) {});
  Call closed;
  REQUIRE(gateway_to(closing)->run(closed));
  CHECK(closed.kind == SMG_END_CONNECT_FAILED);
}

TEST_CASE("large bodies pass both ways through TLS, with pauses") {
  Tls tls("engine");
  const std::string body(8 * 1024 * 1024, 'r');
  std::atomic<std::size_t> heard{0};
  ScriptedServer server(
      [&](Peer& peer) {
        heard = peer.read_request().size();
        peer.send(ok(body));
        peer.read_request();
        peer.send(ok("second"));
        peer.wait_closed();
      },
      tls.context);
  const auto gateway = gateway_to(server);
  Call call;
  call.body = {std::string(3 * 1024 * 1024, 's'), "x", std::string(100'000, 't')};
  int pauses = 0;
  call.on_data = [&](std::string_view) { return ++pauses % 4 == 0 ? SMG_PAUSE : SMG_CONTINUE; };
  gateway->start(call);
  REQUIRE(gateway->host.run_until([&] {
    gateway->resume(call);
    return call.ended();
  }));
  CHECK(call.kind == SMG_END_COMPLETE);
  CHECK((call.answer == body));
  CHECK(heard > 3 * 1024 * 1024 + 100'001);
  Call second;
  REQUIRE(gateway->run(second));
  CHECK(second.answer == "second");
}

TEST_CASE("many small records that arrive together are all read on one event") {
  Tls tls("engine");
  ScriptedServer server(
      [&](Peer& peer) {
        peer.read_request();
        peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (int i = 0; i < 500; ++i) peer.send("5\r\ntoken\r\n");
        peer.send("0\r\n\r\n");
        peer.wait_closed();
      },
      tls.context);
  const auto gateway = gateway_to(server);
  Call call;
  REQUIRE(gateway->run(call));
  CHECK(call.kind == SMG_END_COMPLETE);
  CHECK(call.answer.size() == 2500);
}

TEST_CASE("a truncated TLS connection does not pass for the end of the body") {
  Tls tls("engine");
  ScriptedServer server(
      [&](Peer& peer) {
        peer.read_request();
        peer.send("HTTP/1.1 200 OK\r\n\r\nhalf of");
        peer.reset();
      },
      tls.context);
  Call call;
  REQUIRE(gateway_to(server)->run(call));
  CHECK(call.kind == SMG_END_CONNECTION_LOST);
}

TEST_CASE("a stale TLS connection is replaced, and the session resumed") {
  Tls tls("engine");
  std::atomic<int> resumed{0};
  ScriptedServer server(
      [&](Peer& peer) {
        if (peer.resumed()) ++resumed;
        peer.read_request();
        peer.send(ok("{}"));
        peer.read_request();
      },
      tls.context);
  const auto gateway = gateway_to(server);
  for (int i = 0; i < 3; ++i) {
    Call call;
    REQUIRE(gateway->run(call));
    CHECK(call.kind == SMG_END_COMPLETE);
    CHECK(call.resends == (i == 0 ? 0 : 1));
  }
  CHECK(server.accepted() == 3);
  CHECK(resumed == 2);
}

TEST_CASE("a client certificate is shown to a worker that asks for one") {
  Tls tls("engine");
  require_client_certificate(tls.context, "ca");
  ScriptedServer server(always(ok("{}")), tls.context);

  auto options = trusting();
  const std::string base = certificates().directory() + "/client";
  options["client_cert"] = "\"" + base + ".pem\"";
  options["client_key"] = "\"" + base + ".key\"";
  Call good;
  REQUIRE(gateway_to(server, options)->run(good));
  CHECK(good.kind == SMG_END_COMPLETE);

  Call bad;
  REQUIRE(gateway_to(server)->run(bad));
  CHECK(bad.kind != SMG_END_COMPLETE);
}

TEST_CASE("a file that cannot be used is refused with option and path") {
  const WorkerText worker{.scheme = "https", .port = 1};
  for (const char* option : {"ca_file", "client_cert"}) {
    std::map<std::string, std::string> options = {{option, "\"/no/such/file.pem\""}};
    if (option == std::string("client_cert")) options["client_key"] = "\"/no/such/key.pem\"";
    std::string message;
    try {
      Gateway gateway(worker, options);
    } catch (const std::exception& error) {
      message = error.what();
    }
    CHECK(message.find(std::string("cannot use `/no/such/file.pem` as ") + option) == 0);
    CHECK(message.find(": No such file or directory; it must be") != std::string::npos);
  }
}
