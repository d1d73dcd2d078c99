// Monotonic time in nanoseconds, the only clock of smg-load.
#pragma once

#include <chrono>
#include <cstdint>

namespace smg::bench {

using Nanos = std::int64_t;

inline Nanos now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline Nanos nanos(double seconds) {
  return static_cast<Nanos>(seconds * 1e9);
}

}  // namespace smg::bench
