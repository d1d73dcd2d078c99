// Log-linear histogram of durations: 128 buckets per power of two, so a quantile is off by less
// than 0.8 %. Fixed memory, no allocation after construction. Single thread. Values are nanoseconds
// from 0 to 2^42 - 1 (73 minutes); larger ones count in the last bucket, negative ones as 0.
#pragma once

#include <cstdint>
#include <vector>

namespace smg::bench {

class Histogram {
 public:
  Histogram();

  void record(std::int64_t ns);
  std::uint64_t count() const { return count_; }
  double mean_ms() const;
  double max_ms() const;
  /// `q` from 0 to 1. 0 when nothing was recorded.
  double quantile_ms(double q) const;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace smg::bench
