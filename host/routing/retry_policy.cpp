#include "host/routing/retry_policy.hpp"

#include <algorithm>
#include <cmath>

namespace smg {

std::uint64_t RetryPolicy::delay(std::uint32_t failed, std::uint64_t random) const {
  const double grown = std::floor(initial_ms * std::pow(multiplier, static_cast<double>(failed)));
  const double unit = static_cast<double>(random >> 11) / 9007199254740992.0;  // [0, 1)
  const double delay = std::min(grown, max_ms) * (1 + jitter * (2 * unit - 1));
  return static_cast<std::uint64_t>(std::max(delay, 0.0) * 1e6);
}

RetryPolicy retry_policy_of(const Retry& common, const WorkerResilience& own) {
  RetryPolicy policy;
  policy.attempts = own.disable_retry.value_or(common.disabled)
                        ? 1
                        : own.max_retries.value_or(common.max_retries);
  policy.initial_ms =
      static_cast<double>(own.initial_backoff_ms.value_or(common.initial_backoff_ms));
  policy.max_ms = static_cast<double>(own.max_backoff_ms.value_or(common.max_backoff_ms));
  policy.multiplier = own.backoff_multiplier.value_or(common.backoff_multiplier);
  policy.jitter = own.jitter_factor.value_or(common.jitter_factor);
  return policy;
}

}  // namespace smg
