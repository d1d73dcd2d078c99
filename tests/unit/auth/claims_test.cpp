#include <doctest/doctest.h>

#include <boost/json/parse.hpp>

#include "host/auth/jwt_rules.hpp"

using namespace smg;

namespace {

const JwtRules kRules{"https://idp", "smg", "roles", {}};

boost::json::object claims(const std::string& more) {
  std::string text = R"({"iss":"https://idp","aud":"smg","exp":1000)" + more + "}";
  return boost::json::parse(text).as_object();
}

bool admin(const std::string& more, const JwtRules& rules = kRules) {
  return is_admin(claims(more), rules);
}

}  // namespace

TEST_CASE("3.10.5 the clocks may be 30 s apart") {
  CHECK(claims_problem(claims(""), kRules, 1030).empty());
  CHECK(claims_problem(claims(""), kRules, 1030.1) == "the token has expired");
  CHECK(claims_problem(claims(R"(,"nbf":500)"), kRules, 470).empty());
  CHECK(claims_problem(claims(R"(,"nbf":500)"), kRules, 469.9) == "the token is not valid yet");
  CHECK(claims_problem(claims(R"(,"iat":500)"), kRules, 470).empty());
  CHECK(claims_problem(claims(R"(,"iat":500)"), kRules, 469) ==
        "the token was issued in the future");
  CHECK(claims_problem(claims(R"(,"nbf":500.5,"iat":1e2)"), kRules, 600).empty());
}

TEST_CASE("3.10.5 the audience may be one of several") {
  const auto with = [](const std::string& audience) {
    return claims_problem(
        boost::json::parse(R"({"iss":"https://idp","exp":1000,"aud":)" + audience + "}")
            .as_object(),
        kRules, 0);
  };
  CHECK(with(R"("smg")").empty());
  CHECK(with(R"(["other","smg"])").empty());
  for (const char* wrong : {R"("smg2")", R"("")", R"([])", R"(["other"])", R"([["smg"]])", "null",
                            R"({"smg":1})", "7", R"(["sm","g"])"}) {
    CAPTURE(wrong);
    CHECK(with(wrong) == "the audience is another");
  }
}

TEST_CASE("3.10.5 who it is") {
  CHECK(principal_of(claims(R"(,"sub":"alice")")) == "alice");
  CHECK(principal_of(claims("")).empty());
  CHECK(principal_of(claims(R"(,"sub":7)")).empty());
}

TEST_CASE("3.10.5 without a mapping the roles admin and user count, and no role is user") {
  CHECK(admin(R"(,"roles":"admin")"));
  CHECK(admin(R"(,"roles":["x","admin"])"));
  CHECK(admin(R"(,"roles":["user","admin"])"));
  for (const char* none :
       {"", R"(,"roles":"user")", R"(,"roles":"Admin")", R"(,"roles":"administrator")",
        R"(,"roles":["x"])", R"(,"roles":{"admin":true})", R"(,"roles":[["admin"]])",
        R"(,"roles":true)", R"(,"roles":"admin user")", R"(,"scope":"admin")"}) {
    CAPTURE(none);
    CHECK_FALSE(admin(none));
  }
}

TEST_CASE("3.10.5 the claim of the configuration comes first, then role, roles, groups, group") {
  JwtRules rules = kRules;
  rules.role_claim = "smg_role";
  CHECK_FALSE(admin(R"(,"smg_role":"user","role":"admin")", rules));
  CHECK(admin(R"(,"smg_role":"admin","role":"user")", rules));
  CHECK(admin(R"(,"smg_role":"something","role":"admin")", rules));
  CHECK_FALSE(admin(R"(,"role":"user","roles":"admin")", rules));
  CHECK(admin(R"(,"roles":"admin","groups":"user")", rules));
  CHECK_FALSE(admin(R"(,"groups":"user","group":"admin")", rules));
  CHECK(admin(R"(,"group":"admin")", rules));
}

TEST_CASE("3.10.5 with a mapping only what it names counts") {
  JwtRules rules = kRules;
  rules.role_mapping = {{"smg-ops", "admin"}, {"smg-dev", "user"}};
  CHECK(admin(R"(,"roles":["smg-ops"])", rules));
  CHECK_FALSE(admin(R"(,"roles":["smg-dev"])", rules));
  CHECK_FALSE(admin(R"(,"roles":["admin"])", rules));
  CHECK(admin(R"(,"roles":["admin"],"groups":["smg-dev","smg-ops"])", rules));
}
