#include "host/fleet/overload.hpp"

#include <algorithm>
#include <cstring>

namespace smg {

Ceilings resolve_ceilings(const Ceilings& worker, const Ceilings& gateway) {
  return {.waiting_requests =
              worker.waiting_requests ? worker.waiting_requests : gateway.waiting_requests,
          .token_usage = worker.token_usage ? worker.token_usage : gateway.token_usage};
}

smg_rank_load rank_of(const smg_load_report& report, std::uint32_t index) {
  const char* const at =
      reinterpret_cast<const char*>(report.ranks) + std::uint64_t{index} * report.rank_stride;
  std::uint32_t size = 0;
  std::memcpy(&size, at, sizeof size);
  smg_rank_load rank{};
  std::memcpy(&rank, at, std::min<std::uint64_t>({size, report.rank_stride, sizeof rank}));
  rank.struct_size = sizeof rank;
  return rank;
}

LoadTotals totals_of(const smg_load_report& report) {
  LoadTotals totals;
  for (std::uint32_t i = 0; i < report.rank_count; ++i) {
    const smg_rank_load rank = rank_of(report, i);
    totals.waiting_requests += rank.waiting_requests;
    totals.waiting_uncached_tokens += rank.waiting_uncached_tokens;
    totals.running_requests += rank.running_requests;
    totals.used_tokens += rank.used_tokens;
    totals.token_usage += rank.token_usage;
    totals.generation_throughput += rank.generation_throughput;
    totals.absolute_tokens = totals.absolute_tokens || rank.max_total_tokens > 0;
  }
  if (report.rank_count > 0) totals.token_usage /= report.rank_count;
  return totals;
}

bool is_overloaded(const LoadTotals& totals, const Ceilings& ceilings) {
  return (ceilings.waiting_requests && totals.waiting_requests >= *ceilings.waiting_requests) ||
         (ceilings.token_usage && totals.token_usage >= *ceilings.token_usage);
}

}  // namespace smg
