// A uniform choice from the random bits that a request brings.
#pragma once

#include <cstdint>

namespace smg {

// A number in [0, bound), each equally likely, from 64 random bits. REQUIRES: bound > 0.
// Multiplication by the bound, with rejection of the bits that would favour some results (Lemire
// 2019).
constexpr uint32_t uniform(uint64_t bits, uint32_t bound) {
  __extension__ using Wide = unsigned __int128;
  for (;;) {
    const Wide product = Wide{bits} * bound;
    const auto low = static_cast<uint64_t>(product);
    // 2^64 mod bound products are too many; they are below the bound, so most bits need no
    // division.
    if (low >= bound || low >= (0 - uint64_t{bound}) % bound) {
      return static_cast<uint32_t>(product >> 64);
    }
    bits = bits * 6364136223846793005u + 1442695040888963407u;
  }
}

}  // namespace smg
