// Seconds and milliseconds of the configuration as nanoseconds of the clock.
//
// Both saturate at 2^62 ns (146 years), so that "now + duration" never wraps.
#pragma once

#include <algorithm>
#include <cstdint>

namespace smg {

inline constexpr std::uint64_t kForever = std::uint64_t{1} << 62;

constexpr std::uint64_t seconds_to_ns(std::uint64_t seconds) {
  return std::min(seconds, kForever / 1'000'000'000) * 1'000'000'000;
}
constexpr std::uint64_t milliseconds_to_ns(std::uint64_t milliseconds) {
  return std::min(milliseconds, kForever / 1'000'000) * 1'000'000;
}

}  // namespace smg
