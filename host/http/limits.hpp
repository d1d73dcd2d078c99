// The listener's fixed bounds. Sizes in bytes, times in ns.
#pragma once

#include <cstddef>
#include <cstdint>

namespace smg {

inline constexpr std::size_t kMaxHeadBytes = 64 * 1024;
inline constexpr std::uint64_t kHeadDeadline =
    30'000'000'000;  // from the first byte of a head to its last
inline constexpr std::uint64_t kIdleDeadline =
    75'000'000'000;                                          // between two requests of a connection
inline constexpr std::uint64_t kBodyStall = 60'000'000'000;  // without a byte while a body is due
inline constexpr std::uint64_t kLingerTime = 2'000'000'000;  // reading on after an early refusal
inline constexpr std::size_t kHighWater =
    16 * 1024;                                      // unsent bytes above which the worker is paused
inline constexpr std::size_t kLowWater = 4 * 1024;  // and below which it goes on
inline constexpr std::size_t kHoldLimit =
    256 * 1024;  // a plain answer up to this size is held until complete
inline constexpr std::size_t kMaxPipelined =
    256 * 1024;  // bytes that a client may send ahead of its answers

}  // namespace smg
