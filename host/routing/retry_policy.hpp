// How often a request is attempted, and how long the pause before the next attempt is.
//
// Pure values, any thread.
#pragma once

#include <cstdint>

#include "host/config/config.hpp"

namespace smg {

struct RetryPolicy {
  std::uint32_t attempts = 1;  // the first one included
  double initial_ms = 0;
  double max_ms = 0;
  double multiplier = 1;
  double jitter = 0;

  // After `failed` + 1 failed attempts, in ns:
  //   min(floor(initial * multiplier^failed), max) * (1 + U[-jitter, +jitter])
  // `random`: 64 random bits.
  std::uint64_t delay(std::uint32_t failed, std::uint64_t random) const;
};

// The gateway's, with what the workers of the model want otherwise.
RetryPolicy retry_policy_of(const Retry& common, const WorkerResilience& own);

}  // namespace smg
