// The measured window of a run: its edges in time, and the CPU samples taken at them.
#pragma once

#include <vector>

#include "clock.hpp"
#include "options.hpp"
#include "process_usage.hpp"

namespace smg::bench {

class Window {
 public:
  Window(const Options& options, Nanos start)
      : options_(options), start_(start), end_(start + nanos(options.duration_s)) {}

  /// Call often; takes the samples when an edge has passed.
  void update(Nanos time) {
    if (before_.empty() && time >= start_) {
      before_ = sample_cpu(options_.watch);
      start_ = time;
    } else if (open() && time >= end_) {
      after_ = sample_cpu(options_.watch);
      end_ = time;
    }
  }

  bool open() const { return !before_.empty() && after_.empty(); }
  bool over() const { return !after_.empty(); }
  /// The next edge, for the wait of an event loop. REQUIRES !over().
  Nanos next_edge() const { return before_.empty() ? start_ : end_; }
  double seconds() const { return static_cast<double>(end_ - start_) / 1e9; }
  const std::vector<CpuTime>& before() const { return before_; }
  const std::vector<CpuTime>& after() const { return after_; }

 private:
  const Options& options_;
  Nanos start_;
  Nanos end_;
  std::vector<CpuTime> before_;
  std::vector<CpuTime> after_;
};

}  // namespace smg::bench
