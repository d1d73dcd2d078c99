#include "host/auth/jwt.hpp"

#include <algorithm>
#include <iterator>

#include "host/auth/base64url.hpp"
#include "host/auth/strict_json.hpp"
#include "host/config/document.hpp"

namespace smg {
namespace {

namespace json = boost::json;

constexpr std::string_view kAlgs[] = {"RS256", "RS384", "RS512", "ES256", "ES384"};

std::optional<json::object> part(std::string_view text, std::string_view name,
                                 std::string& reason) {
  const auto decoded = decode_base64url(text);
  if (!decoded) {
    reason = "the " + std::string(name) + " is not base64url";
    return std::nullopt;
  }
  auto object = parse_strict_object(*decoded, reason);
  if (!object) reason = "the " + std::string(name) + " " + reason;
  return object;
}

std::string header_problem(const json::object& header, Jwt& jwt) {
  const json::string* alg = text_member(header, "alg");
  if (alg == nullptr) return "the header has no alg";
  jwt.alg.assign(alg->data(), alg->size());
  if (!is_known_alg(jwt.alg)) {
    return "alg '" + printable_text(jwt.alg) +
           "' is not accepted; it must be RS256, RS384, RS512, ES256 or ES384";
  }
  const json::string* kid = text_member(header, "kid");
  if (kid == nullptr || kid->empty()) return "the header has no kid";
  jwt.kid.assign(kid->data(), kid->size());
  // What it names must be understood, and none of it is.
  if (header.contains("crit")) return "the header has crit, which is not supported";
  return {};
}

}  // namespace

bool looks_like_jwt(std::string_view token) {
  return std::count(token.begin(), token.end(), '.') == 2;
}

bool is_known_alg(std::string_view alg) {
  return std::find(std::begin(kAlgs), std::end(kAlgs), alg) != std::end(kAlgs);
}

std::optional<Jwt> parse_jwt(std::string_view token, std::string& reason) {
  if (token.size() > kMostOfToken) {
    reason = "the token has more than " + std::to_string(kMostOfToken) + " characters";
    return std::nullopt;
  }
  if (!looks_like_jwt(token)) {
    reason = "the token does not have three parts";
    return std::nullopt;
  }
  const std::size_t first = token.find('.');
  const std::size_t second = token.find('.', first + 1);
  Jwt jwt;
  const auto header = part(token.substr(0, first), "header", reason);
  if (!header) return std::nullopt;
  reason = header_problem(*header, jwt);
  if (!reason.empty()) return std::nullopt;
  auto claims = part(token.substr(first + 1, second - first - 1), "payload", reason);
  if (!claims) return std::nullopt;
  auto signature = decode_base64url(token.substr(second + 1));
  if (!signature || signature->empty()) {
    reason = signature ? "the token has no signature" : "the signature is not base64url";
    return std::nullopt;
  }
  jwt.claims = std::move(*claims);
  jwt.signed_part = token.substr(0, second);
  jwt.signature = std::move(*signature);
  return jwt;
}

}  // namespace smg
