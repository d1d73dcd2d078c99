// A signed token (JWT, RFC 7519, as a compact JWS), taken apart. Nothing in it is to be believed
// before its signature has been verified (jwk.hpp).
//
// Pure, any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace smg {

inline constexpr std::size_t kMostOfToken = 16 * 1024;

struct Jwt {
  std::string alg;  // one of is_known_alg()
  std::string kid;  // not empty
  boost::json::object claims;
  std::string_view signed_part;  // of the token that was parsed
  std::string signature;
};

// Three parts between dots: it is meant as a token of this kind.
bool looks_like_jwt(std::string_view token);
// RS256, RS384, RS512, ES256, ES384.
bool is_known_alg(std::string_view alg);

// Nothing, and in `reason` what is wrong. The reason repeats no more of the token than its alg.
std::optional<Jwt> parse_jwt(std::string_view token, std::string& reason);

}  // namespace smg
