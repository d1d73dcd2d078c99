// Whether KV caches are so full, or so unevenly, that requests go by load alone: section 6.6.2 of
// the policies page. Off unless a threshold below 1 is given. Any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "smg/cpp/policy.hpp"

namespace cache_aware {

class KvPressure {
 public:
  KvPressure(double ceiling, double spread) : ceiling_(ceiling), spread_(spread) {}

  // Of the workers that have a report.
  bool holds(const smg::Pool& pool, std::span<const uint32_t> eligible) const {
    if (ceiling_ >= 1 && spread_ >= 1) return false;
    bool reported = false;
    double lowest = 0;
    double highest = 0;
    for (const uint32_t index : eligible) {
      const smg_worker_live& live = pool.live(index);
      if (__atomic_load_n(&live.report_valid, __ATOMIC_ACQUIRE) == 0) continue;
      double usage;
      __atomic_load(&live.token_usage, &usage, __ATOMIC_RELAXED);
      lowest = reported ? std::min(lowest, usage) : usage;
      highest = reported ? std::max(highest, usage) : usage;
      reported = true;
    }
    if (!reported) return false;
    return (ceiling_ < 1 && highest > ceiling_) || (spread_ < 1 && highest - lowest > spread_);
  }

 private:
  double ceiling_;
  double spread_;
};

}  // namespace cache_aware
