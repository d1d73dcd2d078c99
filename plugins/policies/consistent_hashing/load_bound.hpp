// Consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam 2016): with the new
// request counted, no worker has more than `factor` times the mean, rounded up.
//
//   capacity = ceil(factor * (total + 1) / workers)      with `total` the requests in flight on the
//   room     = load + 1 <= capacity                      eligible workers
//
// With a factor of at least 1 some worker has room. One object serves one selection; the total is
// summed up when it is needed first, since a worker that has room even if all others are idle needs
// no sum.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "smg/cpp/policy.hpp"

namespace consistent_hashing {

class LoadBound {
 public:
  // `factor` 0: no bound. Keeps references to pool and eligible.
  LoadBound(double factor, const smg::Pool& pool, std::span<const uint32_t> eligible)
      : factor_(factor), pool_(pool), eligible_(eligible) {}

  bool has_room(uint32_t index) {
    if (factor_ == 0) return true;
    const uint64_t load = pool_.in_flight(index);
    return fits(load, load) || fits(load, total());
  }

 private:
  bool fits(uint64_t load, uint64_t total) const {
    const double mean = static_cast<double>(total + 1) / static_cast<double>(eligible_.size());
    return static_cast<double>(load + 1) <= std::ceil(factor_ * mean);
  }

  uint64_t total() {
    if (!total_) {
      total_ = 0;
      for (const uint32_t index : eligible_) *total_ += pool_.in_flight(index);
    }
    return *total_;
  }

  const double factor_;
  const smg::Pool& pool_;
  const std::span<const uint32_t> eligible_;
  std::optional<uint64_t> total_;
};

}  // namespace consistent_hashing
