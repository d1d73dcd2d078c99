// Writes base64url without padding, which the gateway only reads.
#pragma once

#include <string>
#include <string_view>

namespace smg::test {

inline std::string base64url(std::string_view bytes) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  unsigned bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) out += kLetters[bits >> (count - 6) & 63];
  }
  if (count > 0) out += kLetters[bits << (6 - count) & 63];
  return out;
}

}  // namespace smg::test
