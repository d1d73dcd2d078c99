// How many requests in flight a worker may have to be given those of its prefixes.
//
//   limit = max(mean * load_factor, mean + balance_abs_threshold)
//
// with the mean over the eligible workers, the new request counted. In an idle fleet anyone is
// within. The limit rises with the total. Pure functions, any thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace prefix_hash {

struct LoadLimit {
  double load_factor = 1.25;          // at least 1
  double balance_abs_threshold = 10;  // requests, at least 0

  // `total`: requests in flight on `workers` workers. REQUIRES: workers > 0.
  double of(uint64_t total, uint64_t workers) const {
    const double mean = static_cast<double>(total + 1) / static_cast<double>(workers);
    return std::max(mean * load_factor, mean + balance_abs_threshold);
  }
  bool allows(uint64_t load, uint64_t total, uint64_t workers) const {
    return total == 0 || static_cast<double>(load) <= of(total, workers);
  }
};

}  // namespace prefix_hash
