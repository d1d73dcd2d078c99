#include "host/auth/jwt_rules.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "host/auth/strict_json.hpp"

namespace smg {
namespace {

namespace json = boost::json;

std::string_view text(const json::string& value) {
  return {value.data(), value.size()};
}

bool names(const json::value& claim, std::string_view wanted) {
  if (const auto* one = claim.if_string()) return text(*one) == wanted;
  const auto* list = claim.if_array();
  return list != nullptr && std::any_of(list->begin(), list->end(), [&](const json::value& item) {
           const auto* member = item.if_string();
           return member != nullptr && text(*member) == wanted;
         });
}

// A point in time that a claim names. False: there is a claim, and it is none.
bool read_time(const json::object& claims, const char* name, std::optional<double>& time) {
  const auto* claim = claims.if_contains(name);
  if (claim == nullptr) return true;
  if (!claim->is_number()) return false;
  time = claim->to_number<double>();
  return std::isfinite(*time);
}

// The role that one claim gives; nothing if it gives none.
std::optional<bool> admin_by(const json::value& claim, const JwtRules& rules) {
  std::optional<bool> admin;
  const auto take = [&](const json::value& value) {
    const auto* theirs = value.if_string();
    if (theirs == nullptr) return;
    std::string_view role = text(*theirs);
    if (!rules.role_mapping.empty()) {
      const auto found = rules.role_mapping.find(role);
      role = found == rules.role_mapping.end() ? std::string_view{} : found->second;
    }
    if (role == "admin") admin = true;
    if (role == "user") admin = admin.value_or(false);
  };
  if (const auto* list = claim.if_array()) {
    for (const auto& item : *list) take(item);
  } else {
    take(claim);
  }
  return admin;
}

}  // namespace

std::string claims_problem(const json::object& claims, const JwtRules& rules, double now) {
  std::optional<double> expires, begins, issued;
  if (!read_time(claims, "exp", expires)) return "exp is no time";
  if (!expires) return "the token has no exp";
  if (!read_time(claims, "nbf", begins)) return "nbf is no time";
  if (!read_time(claims, "iat", issued)) return "iat is no time";
  if (*expires < now - JwtRules::kLeewaySecs) return "the token has expired";
  if (begins && *begins > now + JwtRules::kLeewaySecs) return "the token is not valid yet";
  if (issued && *issued > now + JwtRules::kLeewaySecs) return "the token was issued in the future";
  const json::string* issuer = text_member(claims, "iss");
  if (issuer == nullptr || text(*issuer) != rules.issuer) return "the issuer is another";
  const auto* audience = claims.if_contains("aud");
  if (audience == nullptr || !names(*audience, rules.audience)) return "the audience is another";
  return {};
}

std::string principal_of(const json::object& claims) {
  const json::string* subject = text_member(claims, "sub");
  return subject == nullptr ? std::string() : std::string(text(*subject));
}

bool is_admin(const json::object& claims, const JwtRules& rules) {
  const std::array<std::string_view, 5> places = {rules.role_claim, "role", "roles", "groups",
                                                  "group"};
  for (const auto place : places) {
    const auto* claim = claims.if_contains(json::string_view(place.data(), place.size()));
    if (claim == nullptr) continue;
    if (const auto admin = admin_by(*claim, rules)) return *admin;
  }
  return false;
}

}  // namespace smg
