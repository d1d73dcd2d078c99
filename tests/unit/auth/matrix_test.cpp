// Every way of configuring keys, asked with every way of showing one, on both classes of routes.
#include <doctest/doctest.h>

#include <vector>

#include "bench.hpp"
#include "host/auth/serving_keys.hpp"

using namespace smg;

namespace {

// What comes of it: the status (200 is a pass) on serving and on admin routes.
struct Cell {
  const char* header;
  int serving;
  int admin;
};

struct Row {
  const char* name;
  Auth auth;
  std::vector<Cell> cells;
};

// Headers that no configuration with keys accepts, on serving routes and admin routes.
const char* const kMalformed[] = {
    "",
    " ",
    "Bearer",
    "Bearer ",
    "Bearer  shared",
    " Bearer shared",
    "Bearer shared ",
    "Bearer\tshared",
    "bearer shared",
    "BEARER shared",
    "Bearer:shared",
    "Bearershared",
    "Basic c2hhcmVk",
    "Basic shared",
    "Digest username=\"shared\"",
    "shared",
    "Token shared",
    "Bearer \"shared\"",
    "Bearer shared, Bearer shared",
    "Bearer share",
    "Bearer sharedx",
    "Bearer SHARED",
    "Bearer team-a:ka",
    "Bearer root:Root:admin:kroot",
    "Bearer \xff\xfe",
};

const std::vector<std::string> kTenants = {"team-a:ka", "team-b:kb"};
const std::vector<std::string> kAdmins = {"root:Root:admin:kroot", "eve:Eve:user:keve", "bad entry",
                                          "mallory::admin:kmallory"};

std::vector<Row> rows() {
  return {
      {"no keys", {}, {{"", 200, 200}, {"Bearer x", 200, 200}, {"Basic x", 200, 200}}},
      {"shared key",
       {.api_key = "shared"},
       {{"Bearer shared", 200, 200}, {"Bearer ka", 401, 401}, {"Bearer kroot", 401, 401}}},
      {"tenant keys only",
       {.tenant_api_keys = kTenants},
       {{"Bearer ka", 200, 401}, {"Bearer kb", 200, 401}, {"Bearer shared", 401, 401}}},
      {"shared and tenant keys",
       {.api_key = "shared", .tenant_api_keys = kTenants},
       {{"Bearer shared", 200, 200}, {"Bearer ka", 200, 401}, {"Bearer kroot", 401, 401}}},
      {"control-plane keys only",
       {.control_plane_api_keys = kAdmins},
       {{"", 200, 401},
        {"Bearer kroot", 200, 200},
        {"Bearer keve", 200, 403},
        {"Bearer kmallory", 200, 401},
        {"Bearer entry", 200, 401},
        {"Bearer x", 200, 401}}},
      {"control-plane keys, all malformed",
       {.control_plane_api_keys = {"bad entry", "a:b:root:k"}},
       {{"", 200, 401}, {"Bearer k", 200, 401}}},
      {"shared and control-plane keys",
       {.api_key = "shared", .control_plane_api_keys = kAdmins},
       {{"Bearer shared", 200, 401}, {"Bearer kroot", 401, 200}, {"Bearer keve", 401, 403}}},
      {"all kinds",
       {.api_key = "shared", .tenant_api_keys = kTenants, .control_plane_api_keys = kAdmins},
       {{"Bearer shared", 200, 401},
        {"Bearer ka", 200, 401},
        {"Bearer kroot", 401, 200},
        {"Bearer keve", 401, 403},
        {"Bearer kmallory", 401, 401}}},
      {"tokens only",
       {.jwt_issuer = "http://127.0.0.1:1", .jwt_audience = "smg"},
       {{"", 200, 401}, {"Bearer x", 200, 401}, {"Bearer x.y.z", 200, 401}}},
      {"tokens and keys",
       {.tenant_api_keys = kTenants,
        .control_plane_api_keys = kAdmins,
        .jwt_issuer = "http://127.0.0.1:1",
        .jwt_audience = "smg"},
       {{"Bearer ka", 200, 401},
        {"Bearer kroot", 401, 200},
        {"Bearer keve", 401, 403},
        {"Bearer x.y.z", 401, 401}}},
      {"an issuer without an audience is none",
       {.jwt_issuer = "http://127.0.0.1:1"},
       {{"", 200, 200}}},
  };
}

int serving_status(const ServingKeys& keys, std::string_view header) {
  return keys.check(header).access == ServingKeys::Access::refused ? 401 : 200;
}

}  // namespace

TEST_CASE_FIXTURE(test::AuthBench, "1.2 3.9 3.10 the matrix of keys, roles, routes and headers") {
  int cells = 0;
  for (const auto& row : rows()) {
    CAPTURE(row.name);
    const ServingKeys serving(row.auth, families);
    ControlPlane plane(row.auth, families);
    const bool serving_open = row.auth.api_key.empty() && row.auth.tenant_api_keys.empty();
    const bool guarded = !row.auth.control_plane_api_keys.empty() ||
                         (!row.auth.jwt_issuer.empty() && !row.auth.jwt_audience.empty());
    std::vector<Cell> all = row.cells;
    for (const char* header : kMalformed) {
      all.push_back({header, serving_open ? 200 : 401, serving_open && !guarded ? 200 : 401});
    }
    for (const auto& cell : all) {
      CAPTURE(cell.header);
      const AdminVerdict verdict = ask(plane, cell.header);
      CHECK(serving_status(serving, cell.header) == cell.serving);
      CHECK((verdict.pass() ? 200 : static_cast<int>(verdict.status)) == cell.admin);
      // The simple check answers as serving routes do: nothing but the status.
      const bool bare = verdict.pass() || !guarded;
      CHECK(verdict.text.empty() == bare);
      CHECK(verdict.challenge.empty() == (bare || verdict.status == 403));
      cells += 2;
    }
  }
  CHECK(cells > 500);
}

TEST_CASE_FIXTURE(test::AuthBench, "3.10 the texts of the refusals") {
  ControlPlane plane({.control_plane_api_keys = kAdmins}, families);
  for (const char* header : {"", "Bearer", "Bearer ", "Basic x", "bearer kroot", "kroot"}) {
    const AdminVerdict verdict = ask(plane, header);
    CHECK(verdict.status == 401);
    CHECK(verdict.challenge == "Bearer realm=\"control-plane\"");
    CHECK(verdict.text == "Missing or invalid Authorization header");
  }
  CHECK(ask(plane, "Bearer other").text == "Invalid authentication token");
  CHECK(ask(plane, "Bearer a.b.c").text == "Invalid authentication token");
  const AdminVerdict user = ask(plane, "Bearer keve");
  CHECK(user.status == 403);
  CHECK(user.text == "Admin role required for control plane access");
  CHECK(rejected("401") == 8);
  CHECK(rejected("403") == 1);
}

TEST_CASE_FIXTURE(test::AuthBench, "3.10.7 every verdict is in the audit log, and no key is") {
  ControlPlane plane({.api_key = "shared", .control_plane_api_keys = kAdmins}, families);
  ask(plane, "Bearer kroot");
  ask(plane, "Bearer keve");
  ask(plane, "Bearer shared");
  ask(plane, "Basic c2hhcmVk");
  CHECK(lines("info audit {") == 4);
  CHECK(lines(R"("principal":"root","auth_method":"api_key","role":"admin","method":"POST",)"
              R"("path":"/workers","resource":"","outcome":"success")") == 1);
  CHECK(lines(R"("principal":"eve","auth_method":"api_key","role":"user")") == 1);
  CHECK(lines(R"("outcome":"denied")") == 3);
  for (const char* secret : {"kroot", "keve", "shared", "c2hhcmVk", "kmallory"}) {
    CHECK(lines(secret) == 0);
  }
}

TEST_CASE_FIXTURE(test::AuthBench, "3.10.7 no audit where it is off, and none where all is open") {
  ControlPlane plane({.control_plane_api_keys = kAdmins, .disable_audit_logging = true}, families);
  ask(plane, "Bearer kroot");
  ask(plane, "Bearer other");
  plane.configure({});
  ask(plane, "");
  CHECK(lines("audit") == 0);
  plane.configure({.api_key = "shared"});
  ask(plane, "Bearer shared");
  CHECK(lines(R"("auth_method":"shared_key")") == 1);
}
