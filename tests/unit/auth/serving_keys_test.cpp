#include "host/auth/serving_keys.hpp"

#include <doctest/doctest.h>

using namespace smg;
using Access = ServingKeys::Access;

namespace {

struct Bench {
  ServingKeys keys(Auth auth) { return {auth, families}; }
  double refused() { return families.auth_rejections.with({"serving", "401"}).value(); }

  Metrics metrics{{.loops = 1}};
  Families families{metrics};
};

}  // namespace

TEST_CASE_FIXTURE(Bench, "1.2 without a key the serving routes are open") {
  const auto open = keys({});
  CHECK(open.check("").access == Access::open);
  CHECK(open.check("Bearer anything").access == Access::open);
  CHECK(refused() == 0);
}

TEST_CASE_FIXTURE(Bench, "3.9.1 the header begins with exactly 'Bearer '") {
  const auto one = keys({.api_key = "k1"});
  CHECK(one.check("Bearer k1").access == Access::granted);
  int wrong = 0;
  for (const char* header :
       {"", "k1", "Bearer", "Bearer ", "bearer k1", "BEARER k1", "Bearer  k1", "Bearer\tk1",
        " Bearer k1", "Bearer k1 ", "Bearer k1x", "Bearer K1", "Basic k1", "Bearer k1,Bearer k1"}) {
    CAPTURE(header);
    CHECK(one.check(header).access == Access::refused);
    CHECK(refused() == ++wrong);
  }
}

TEST_CASE_FIXTURE(Bench, "3.9.3 the key says whose request it is") {
  const auto both = keys({.api_key = "shared", .tenant_api_keys = {"a:k1", "b:k2", "b:k3:x"}});
  CHECK(both.check("Bearer k1").tenant == "auth:a");
  CHECK(both.check("Bearer k2").tenant == "auth:b");
  CHECK(both.check("Bearer k3:x").tenant == "auth:b");
  const auto shared = both.check("Bearer shared");
  CHECK(shared.access == Access::granted);
  // The first half of SHA-256("shared").
  CHECK(shared.tenant == "auth:" + digest_name(digest_of("shared")));
  CHECK(shared.tenant.size() == 37);
  CHECK(shared.tenant.find("shared") == std::string_view::npos);
  CHECK(both.check("Bearer a:k1").access == Access::refused);
}

TEST_CASE_FIXTURE(Bench, "3.9.2 keys are compared as SHA-256") {
  CHECK(digest_name(digest_of("abc")) == "ba7816bf8f01cfea414140de5dae2223");
  CHECK(digest_of("abc") != digest_of("abd"));
}

TEST_CASE_FIXTURE(Bench, "3.9.4 the tenant of a request without a key") {
  std::string tenant;
  const auto plain = keys({});
  plain.unknown_tenant("acme", "10.0.0.1", tenant);
  CHECK(tenant == "ip:10.0.0.1");
  const auto trusting = keys({.trust_tenant_header = true});
  trusting.unknown_tenant("acme", "10.0.0.1", tenant);
  CHECK(tenant == "header:acme");
  trusting.unknown_tenant("", "::1", tenant);
  CHECK(tenant == "ip:::1");
  trusting.unknown_tenant("", "", tenant);
  CHECK(tenant == "anonymous");
}

TEST_CASE_FIXTURE(Bench, "3.9.4 a tenant that would not fit into a log line is not believed") {
  std::string tenant;
  const auto trusting = keys({.trust_tenant_header = true});
  for (const std::string& name :
       {std::string("a b"), std::string("a\nb"), std::string("\xc3\xa4"), std::string(257, 'x')}) {
    trusting.unknown_tenant(name, "10.0.0.1", tenant);
    CHECK(tenant == "ip:10.0.0.1");
  }
  trusting.unknown_tenant(std::string(256, 'x'), "10.0.0.1", tenant);
  CHECK(tenant == "header:" + std::string(256, 'x'));
}
