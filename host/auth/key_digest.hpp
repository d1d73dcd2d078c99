// SHA-256 digests, which stand for keys wherever keys are kept and compared.
//
// Any thread. Nothing is allocated once a thread has made its first digest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace smg {

using KeyDigest = std::array<std::uint8_t, 32>;

KeyDigest digest_of(std::string_view key);

// The first half of the digest, in hexadecimal: names a key without telling it.
std::string digest_name(const KeyDigest& digest);

struct KeyDigestHash {
  std::size_t operator()(const KeyDigest& digest) const {
    std::size_t hash = 0;
    std::memcpy(&hash, digest.data(), sizeof hash);
    return hash;
  }
};

// What follows `Bearer ` in the value of an Authorization header; empty if it begins otherwise.
inline std::string_view bearer_token(std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  return authorization.starts_with(kScheme) ? authorization.substr(kScheme.size())
                                            : std::string_view{};
}

}  // namespace smg
