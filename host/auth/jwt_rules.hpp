// What the claims of a token have to say, and what follows from them: who it is, and whether that
// is an administrator.
//
// Pure, any thread. The signature is not looked at here.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "host/config/option_value.hpp"

namespace smg {

struct JwtRules {
  static constexpr double kLeewaySecs = 30;  // of the clocks of signer and gateway

  std::string issuer;
  std::string audience;
  std::string role_claim;
  StringMap role_mapping;  // the signer's role -> admin or user; empty: its admin is ours
};

// What is wrong at `now`, in seconds since 1970; empty: nothing. Repeats no claim.
std::string claims_problem(const boost::json::object& claims, const JwtRules& rules, double now);
// Empty where the token does not say.
std::string principal_of(const boost::json::object& claims);
bool is_admin(const boost::json::object& claims, const JwtRules& rules);

}  // namespace smg
