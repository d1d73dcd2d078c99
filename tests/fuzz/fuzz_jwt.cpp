// Any bytes as what authentication reads from outside. The first one says which: a token as it
// stands in a header, the three parts of one (encoded here, so that the bytes reach the JSON), the
// claims of one, or a key set.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "host/auth/base64url.hpp"
#include "host/auth/jwk.hpp"
#include "host/auth/jwt.hpp"
#include "host/auth/jwt_rules.hpp"
#include "host/auth/strict_json.hpp"
#include "tests/support/base64url.hpp"

namespace {

using smg::test::base64url;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_claims(const boost::json::object& claims) {
  static const smg::JwtRules kRules{"i", "a", "r", {}};
  static const smg::JwtRules kMapped{"i", "a", "r", {{"x", "admin"}, {"y", "user"}}};
  const std::string problem = smg::claims_problem(claims, kRules, 1000);
  require(problem.size() < 100);
  if (problem.empty()) {
    require(claims.at("iss") == "i");
    require(claims.at("exp").to_number<double>() >= 970);
    require(claims.contains("aud"));
  }
  const bool admin = smg::is_admin(claims, kRules);
  const bool mapped = smg::is_admin(claims, kMapped);
  if (admin || mapped) require(!claims.empty());
  smg::principal_of(claims);
}

void check_token(std::string_view token) {
  std::string reason;
  const auto jwt = smg::parse_jwt(token, reason);
  require(jwt.has_value() == reason.empty());
  require(reason.size() < 350);  // it may quote 60 characters, each as \xNN
  for (const char c : reason) require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  if (!jwt) return;
  require(token.size() <= smg::kMostOfToken);
  require(smg::looks_like_jwt(token));
  require(smg::is_known_alg(jwt->alg));
  require(!jwt->kid.empty() && !jwt->signature.empty());
  require(token.starts_with(jwt->signed_part));
  // There is one text for a value: what was read can be written again.
  require(token.substr(jwt->signed_part.size() + 1) == base64url(jwt->signature));
  check_claims(jwt->claims);
}

void check_key_set(std::string_view document) {
  std::string reason;
  const auto keys = smg::parse_key_set(document, reason);
  require(keys.has_value() == reason.empty());
  if (!keys) return;
  for (const auto& key : *keys) {
    require(!key.kid.empty() && key.key != nullptr);
    const std::string_view alg = key.alg.empty() ? std::string_view("RS256") : key.alg;
    require(smg::is_known_alg(alg) && key.fits(alg));
    require(!smg::verify_signature(key, alg, "text", document.substr(0, 96)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t first = input.find('\n');
  const std::size_t second = first == input.npos ? first : input.find('\n', first + 1);
  std::string reason;
  switch (*data) {
    case 'p':
      if (second == input.npos) break;
      check_token(base64url(input.substr(0, first)) + "." +
                  base64url(input.substr(first + 1, second - first - 1)) + "." +
                  base64url(input.substr(second + 1)));
      break;
    case 'c':
      if (const auto claims = smg::parse_strict_object(input, reason)) check_claims(*claims);
      break;
    case 'k':
      check_key_set(input);
      break;
    default:
      check_token(input);
      break;
  }
  return 0;
}
