// A load report that owns what it says. Immutable, shared.
#pragma once

#include <string>
#include <vector>

#include "host/fleet/overload.hpp"
#include "host/fleet/worker_liveness.hpp"
#include "smg/load.h"

namespace smg {

class LoadReport {
 public:
  // `pushed`: it came unasked, whatever it says itself.
  explicit LoadReport(const smg_load_report& report, bool pushed = false);
  LoadReport(const LoadReport&) = delete;
  LoadReport& operator=(const LoadReport&) = delete;

  const std::vector<smg_rank_load>& ranks() const { return ranks_; }
  const std::string& timestamp() const { return timestamp_; }
  const LoadTotals& totals() const { return totals_; }
  // What it says about liveness.
  LivenessEvidence evidence() const;
  // As plugins and the bus are shown it.
  const smg_load_report& view() const { return view_; }

 private:
  std::vector<smg_rank_load> ranks_;
  std::vector<std::string> modes_;  // what the ranks' disagg_mode points to
  std::string timestamp_;
  LoadTotals totals_;
  smg_load_report view_{};
};

}  // namespace smg
