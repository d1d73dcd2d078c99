// The listener's fixed bounds; those that an operator may set are in [limits]. Sizes in bytes,
// times in ns.
#pragma once

#include <cstddef>
#include <cstdint>

namespace smg {

inline constexpr std::size_t kMaxHeadBytes = 64 * 1024;
// Of a body must come within [limits] body_timeout_secs, or what is left of it.
inline constexpr std::size_t kMinBodyProgress = 4 * 1024;
inline constexpr std::size_t kMaxAdminBody = 1 << 20;
// A body up to this size is read and dropped after an early answer, so that the connection can be
// kept.
inline constexpr std::size_t kDiscardedBody = 64 * 1024;
// Memory that a request may take on the word of its Content-Length.
inline constexpr std::size_t kTrustedLength = 256 * 1024;
inline constexpr std::uint64_t kLingerTime = 2'000'000'000;  // reading on after an early refusal
// What a connection beyond the limit gets to put its question.
inline constexpr std::uint64_t kExcessDeadline = 2'000'000'000;
inline constexpr std::size_t kHighWater =
    16 * 1024;                                      // unsent bytes above which the worker is paused
inline constexpr std::size_t kLowWater = 4 * 1024;  // and below which it goes on
inline constexpr std::size_t kMaxPipelined =
    256 * 1024;  // bytes that a client may send ahead of its answers

}  // namespace smg
