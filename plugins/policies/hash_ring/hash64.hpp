// XXH3-64 with seed 0: positions on hash rings, and names of prompts' prefixes.
//
// Replicas of a gateway must agree on them, so the function and the byte order are fixed. Pure
// functions, any thread.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

namespace smg {

uint64_t hash64(std::string_view bytes);

// Of the ids as 32-bit little-endian numbers, one after the other.
inline uint64_t hash64(std::span<const uint32_t> tokens) {
  static_assert(std::endian::native == std::endian::little);
  return hash64({reinterpret_cast<const char*>(tokens.data()), tokens.size_bytes()});
}

}  // namespace smg
