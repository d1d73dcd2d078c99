// Tokens through the control plane: its thread, its keys from a server, its changes of mind.
#include "host/auth/control_plane.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>

#include "bench.hpp"
#include "local_server.hpp"
#include "signer.hpp"

using namespace smg;
using test::LocalServer;

namespace {

struct Issuer {
  Issuer()
      : server([this](const std::string& path) {
          ++fetches;
          if (path == "/.well-known/openid-configuration") {
            return LocalServer::ok(R"({"issuer":")" + server.url() + R"(","jwks_uri":")" +
                                   server.url("/keys") + "\"}");
          }
          return LocalServer::ok(R"({"keys":[)" + test::p256().jwk("k1") + "]}");
        }) {}

  std::string token(const std::string& role, const std::string& kid = "k1") const {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto later = std::chrono::duration_cast<std::chrono::seconds>(now).count() + 300;
    return test::p256().token("ES256", kid,
                              R"({"iss":")" + server.url() +
                                  R"(","aud":"smg","sub":"alice","role":")" + role + R"(","exp":)" +
                                  std::to_string(later) + "}");
  }
  Auth auth() const { return {.jwt_issuer = server.url(), .jwt_audience = "smg"}; }

  std::atomic<int> fetches{0};
  LocalServer server;
};

}  // namespace

TEST_CASE_FIXTURE(test::AuthBench, "3.10.3 a token is verified off the loop and told on it") {
  Issuer issuer;
  ControlPlane plane(issuer.auth(), families);
  const AdminVerdict admin = ask(plane, "Bearer " + issuer.token("admin"));
  CHECK(admin.pass());
  CHECK(admin.principal == "alice");
  CHECK(admin.auth_method == "jwt");
  CHECK(admin.role == "admin");
  const AdminVerdict user = ask(plane, "Bearer " + issuer.token("user"));
  CHECK(user.status == 403);
  CHECK(user.text == "Admin role required for control plane access");
  CHECK(user.challenge.empty());
  CHECK(issuer.fetches == 2);
  CHECK(rejected("403") == 1);
  CHECK(lines(R"("principal":"alice","auth_method":"jwt","role":"admin","method":"POST",)"
              R"("path":"/workers","resource":"","outcome":"success","request_id":"req-1")") == 1);
  CHECK(lines(R"("role":"user")") == 1);
}

TEST_CASE_FIXTURE(test::AuthBench, "3.10.3 a token that fails does not fall through to the keys") {
  Issuer issuer;
  Auth auth = issuer.auth();
  auth.control_plane_api_keys = {"a:n:admin:x.y.z", "b:n:admin:plain"};
  ControlPlane plane(auth, families);
  const AdminVerdict verdict = ask(plane, "Bearer x.y.z");
  CHECK(verdict.status == 401);
  CHECK(verdict.text.starts_with("Invalid JWT: "));
  CHECK(ask(plane, "Bearer plain").pass());
  CHECK(ask(plane, "Bearer " + issuer.token("admin", "k2")).text ==
        "Invalid JWT: the issuer has no key with this kid");
}

TEST_CASE_FIXTURE(test::AuthBench, "without an issuer a key may look like a token") {
  ControlPlane plane({.control_plane_api_keys = {"a:n:admin:x.y.z"}}, families);
  CHECK(ask(plane, "Bearer x.y.z").principal == "a");
}

TEST_CASE_FIXTURE(test::AuthBench,
                  "3.10.6 while the issuer was never reached the shared key opens admin routes") {
  Auth auth{.api_key = "shared", .jwt_issuer = "http://127.0.0.1:1", .jwt_audience = "smg"};
  ControlPlane plane(auth, families);
  // The first token waits for the fetch, which fails.
  CHECK(ask(plane, "Bearer " + test::p256().token("ES256", "k", "{}")).status == 401);
  while (families.jwks_refreshes.with({"failure"}).value() == 0) std::this_thread::yield();
  while (!ask(plane, "Bearer shared").pass()) std::this_thread::yield();
  CHECK(ask(plane, "Bearer other").text == "Invalid authentication token");
  CHECK(ask(plane, "").status == 401);
  CHECK(lines("the keys of http://127.0.0.1:1 cannot be had: ") >= 1);
  // Without one nobody comes in.
  auth.api_key.clear();
  plane.configure(auth);
  CHECK(ask(plane, "Bearer shared").status == 401);
  CHECK(ask(plane, "").status == 401);
}

TEST_CASE_FIXTURE(test::AuthBench,
                  "3.10.6 once the issuer has told its keys the shared one is none") {
  Issuer issuer;
  Auth auth = issuer.auth();
  auth.api_key = "shared";
  ControlPlane plane(auth, families);
  CHECK(ask(plane, "Bearer " + issuer.token("admin")).pass());
  CHECK(ask(plane, "Bearer shared").text == "Invalid authentication token");
}

TEST_CASE_FIXTURE(test::AuthBench, "another configuration is in force at once, fetched keys stay") {
  Issuer issuer;
  ControlPlane plane(issuer.auth(), families);
  CHECK(ask(plane, "Bearer " + issuer.token("ops")).status == 403);
  Auth auth = issuer.auth();
  auth.jwt_role_mapping = {{"ops", "admin"}};
  auth.control_plane_api_keys = {"a:n:admin:k1"};
  plane.configure(auth);
  CHECK(ask(plane, "Bearer " + issuer.token("ops")).pass());
  CHECK(ask(plane, "Bearer k1").pass());
  auth.control_plane_api_keys = {"a:n:admin:k2"};
  plane.configure(auth);
  CHECK(ask(plane, "Bearer k1").status == 401);
  CHECK(ask(plane, "Bearer k2").pass());
  CHECK(issuer.fetches == 2);
  plane.configure({});
  CHECK(ask(plane, "Bearer " + issuer.token("user")).pass());
}

TEST_CASE_FIXTURE(test::AuthBench, "a client that goes is not told, and a plane may go before it") {
  Issuer issuer;
  auto plane = std::make_unique<ControlPlane>(issuer.auth(), families);
  bool told = false;
  const std::string header = "Bearer " + issuer.token("admin");
  for (int i = 0; i < 100; ++i) {
    ControlPlane::Pending pending;
    CHECK_FALSE(plane->check(
        query(header), post(), [&](const AdminVerdict&) { told = true; }, pending));
    ControlPlane::forget(pending);
    CHECK(pending == nullptr);
    ControlPlane::Pending kept;
    plane->check(
        query(header), post(), [](const AdminVerdict&) {}, kept);
  }
  plane.reset();
  run_posted();
  CHECK_FALSE(told);
}

TEST_CASE_FIXTURE(test::AuthBench, "keys may be changed while many are checked") {
  ControlPlane plane({.control_plane_api_keys = {"a:n:admin:k0", "b:n:admin:always"}}, families);
  std::atomic<bool> over{false};
  std::atomic<int> refused{0}, checked{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!over) {
        ControlPlane::Pending pending;
        const auto verdict = plane.check(query("Bearer always"), post(), {}, pending);
        if (!verdict || !verdict->pass()) ++refused;
        ++checked;
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    plane.configure(
        {.control_plane_api_keys = {"a:n:admin:k" + std::to_string(i), "b:n:admin:always"}});
  }
  while (checked < 1000) std::this_thread::yield();
  over = true;
  threads.clear();
  CHECK(refused == 0);
}
