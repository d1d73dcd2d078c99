// What a worker has of its own for TLS.
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>

#include "fixture.hpp"
#include "scratch_directory.hpp"
#include "tls_fixture.hpp"

using namespace smg::test;
namespace fs = std::filesystem;

namespace {

using Options = std::map<std::string, std::string>;

Options quoted(std::initializer_list<std::pair<std::string, std::string>> pairs) {
  Options options;
  for (const auto& [key, value] : pairs) options[key] = "\"" + value + "\"";
  return options;
}

WorkerText engine(const ScriptedServer& server) {
  return {.scheme = "https", .host = "engine.test", .port = server.port()};
}

std::unique_ptr<Gateway> gateway_to(const WorkerText& worker, Options options = {}) {
  auto gateway = std::make_unique<Gateway>(worker, std::move(options));
  gateway->host.names["engine.test"] = {TestHost::address("127.0.0.1", worker.port)};
  return gateway;
}

std::uint32_t outcome(Gateway& gateway) {
  Call call;
  REQUIRE(gateway.run(call));
  return call.kind;
}

// Answers once per connection, so that every request makes a new one.
ScriptedServer::Script once() {
  return [](Peer& peer) {
    if (!peer.read_request().empty()) peer.send(ok("{}", "Connection: close\r\n"));
  };
}

// Files that the test replaces.
struct Place {
  std::string put(const std::string& from, const std::string& to) const {
    fs::copy_file(from, directory / "new", fs::copy_options::overwrite_existing);
    fs::rename(directory / "new", directory / to);
    return (directory / to).string();
  }
  const smg::test::ScratchDirectory scratch;
  const fs::path& directory = scratch.path();
};

}  // namespace

TEST_CASE("a worker's own authorities count instead of the common ones, all of them") {
  const Certificates& all = certificates();
  Tls tls("elsewhere");
  ScriptedServer server(always(ok("{}")), tls.context);
  WorkerText worker = engine(server);
  const Options common = quoted({{"ca_file", all.authority()}});
  CHECK(outcome(*gateway_to(worker, common)) == SMG_END_CONNECT_FAILED);
  worker.ca_files = {all.certificate("other")};
  CHECK(outcome(*gateway_to(worker, common)) == SMG_END_COMPLETE);
  worker.ca_files = {all.authority(), all.certificate("other")};
  CHECK(outcome(*gateway_to(worker)) == SMG_END_COMPLETE);
  worker.ca_files = {all.authority()};
  CHECK(outcome(*gateway_to(worker, quoted({{"ca_file", all.certificate("other")}}))) ==
        SMG_END_CONNECT_FAILED);
}

TEST_CASE("a worker with authorities of its own is checked even where nobody else is") {
  Tls tls("elsewhere");
  ScriptedServer server(always(ok("{}")), tls.context);
  WorkerText worker = engine(server);
  const Options lax = {{"insecure_skip_verify", "true"}};
  CHECK(outcome(*gateway_to(worker, lax)) == SMG_END_COMPLETE);
  worker.ca_files = {certificates().authority()};
  CHECK(outcome(*gateway_to(worker, lax)) == SMG_END_CONNECT_FAILED);
}

TEST_CASE("a worker is shown its own client certificate, the common authorities stay") {
  const Certificates& all = certificates();
  Tls tls("engine");
  require_client_certificate(tls.context, "other");
  ScriptedServer server(always(ok("{}")), tls.context);
  WorkerText worker = engine(server);
  const Options common = quoted({{"ca_file", all.authority()},
                                 {"client_cert", all.certificate("client")},
                                 {"client_key", all.key("client")}});
  CHECK(outcome(*gateway_to(worker, common)) != SMG_END_COMPLETE);
  worker.client_cert = all.certificate("stranger");
  worker.client_key = all.key("stranger");
  CHECK(outcome(*gateway_to(worker, common)) == SMG_END_COMPLETE);
}

TEST_CASE("a worker's file that cannot be used is refused when the worker is opened") {
  const Certificates& all = certificates();
  const auto refusal = [](const WorkerText& worker) -> std::string {
    try {
      const Gateway gateway(worker);
    } catch (const std::exception& error) {
      return error.what();
    }
    return {};
  };
  WorkerText worker{.scheme = "https", .port = 1, .ca_files = {"/no/such/ca.pem"}};
  CHECK(refusal(worker) ==
        "worker https://127.0.0.1:1: cannot use `/no/such/ca.pem` as ca_file (of one worker: "
        "tls.ca_cert_paths): No such file "
        "or directory; it must be a readable PEM file");
  worker = {.scheme = "https",
            .port = 1,
            .client_cert = all.certificate("client"),
            .client_key = all.key("stranger")};
  CHECK(refusal(worker) == "worker https://127.0.0.1:1: cannot use `" + all.key("stranger") +
                               "` as client_key (of one worker: tls.client_key_path): key values "
                               "mismatch; it must be a readable PEM file");
}

TEST_CASE("renewed files are taken up by new connections, bad ones are not, and the log says so") {
  const Certificates& all = certificates();
  const Place place;
  Tls tls("elsewhere");
  ScriptedServer server(once(), tls.context);
  WorkerText worker = engine(server);
  worker.ca_files = {place.put(all.certificate("other"), "ca.pem")};
  const auto gateway = gateway_to(worker);
  CHECK(outcome(*gateway) == SMG_END_COMPLETE);

  const auto until = [&](std::uint32_t wanted) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (outcome(*gateway) != wanted) {
      if (std::chrono::steady_clock::now() > limit) return false;
    }
    return true;
  };
  // A session that the authority before has vouched for is not resumed.
  place.put(all.authority(), "ca.pem");
  CHECK(until(SMG_END_CONNECT_FAILED));
  place.put(all.certificate("other"), "ca.pem");
  CHECK(until(SMG_END_COMPLETE));

  place.put(all.key("client"), "ca.pem");
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (gateway->host.log_lines().empty() && std::chrono::steady_clock::now() < limit) {
    CHECK(outcome(*gateway) == SMG_END_COMPLETE);
  }
  REQUIRE(gateway->host.log_lines().size() == 1);
  CHECK(gateway->host.log_lines()[0].find("renewed TLS files are not taken up") == 0);
  CHECK(outcome(*gateway) == SMG_END_COMPLETE);
}

TEST_CASE("a worker that is opened again has its files read again") {
  const Certificates& all = certificates();
  const Place place;
  Tls tls("elsewhere");
  ScriptedServer server(once(), tls.context);
  WorkerText worker = engine(server);
  worker.ca_files = {place.put(all.authority(), "ca.pem")};
  const auto gateway = gateway_to(worker);
  CHECK(outcome(*gateway) == SMG_END_CONNECT_FAILED);
  place.put(all.certificate("other"), "ca.pem");
  const auto again = gateway->reopen();
  CHECK(outcome(*gateway) == SMG_END_COMPLETE);
  gateway->close_endpoint(again);
}
