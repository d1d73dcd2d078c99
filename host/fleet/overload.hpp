// The overload verdict: one report against one worker's ceilings.
//
//   overloaded  <=>  sum of waiting requests over the ranks >= waiting ceiling
//                or  mean token usage over the ranks        >= usage ceiling
//
// Both inclusive, no hysteresis, evaluated once per report. A ceiling that is not set never trips.
#pragma once

#include <cstdint>
#include <optional>

#include "smg/load.h"

namespace smg {

struct Ceilings {
  std::optional<std::int64_t> waiting_requests;  // >= 1
  // (0, 1]. Double on purpose: 0.8 in single precision is above a reported 0.8.
  std::optional<double> token_usage;

  bool any() const { return waiting_requests || token_usage; }
  friend bool operator==(const Ceilings&, const Ceilings&) = default;
};

// Per signal: what the worker's own block sets, else the gateway's.
Ceilings resolve_ceilings(const Ceilings& worker, const Ceilings& gateway);

// What a report says of the worker as a whole.
struct LoadTotals {
  std::int64_t waiting_requests = 0;         // sum
  std::int64_t waiting_uncached_tokens = 0;  // sum
  std::int64_t running_requests = 0;         // sum
  std::int64_t used_tokens = 0;              // sum
  double token_usage = 0;                    // mean; 0 without ranks
  double generation_throughput = 0;          // sum
  bool absolute_tokens = false;              // a rank knows how many tokens it can hold
};
LoadTotals totals_of(const smg_load_report& report);

bool is_overloaded(const LoadTotals& totals, const Ceilings& ceilings);

// The rank at `index`, whatever size the side that filled it knew; what it did not know is zero.
smg_rank_load rank_of(const smg_load_report& report, std::uint32_t index);

}  // namespace smg
