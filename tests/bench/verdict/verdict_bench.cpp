// What the verdict on one report costs: totals over its ranks, and the two comparisons.
#include <benchmark/benchmark.h>

#include <vector>

#include "host/fleet/overload.hpp"

namespace {

using namespace smg;

std::vector<smg_rank_load> some_ranks(std::size_t count) {
  std::vector<smg_rank_load> ranks(count);
  for (std::size_t i = 0; i < count; ++i) {
    smg_rank_load& rank = ranks[i];
    rank.struct_size = sizeof rank;
    rank.dp_rank = static_cast<std::int32_t>(i);
    rank.running_requests = 12;
    rank.used_tokens = 40960;
    rank.max_total_tokens = 131072;
    rank.token_usage = 0.3125;
    rank.generation_throughput = 850.5;
  }
  return ranks;
}

smg_load_report report_of(const std::vector<smg_rank_load>& ranks) {
  smg_load_report report{};
  report.struct_size = sizeof report;
  report.ranks = ranks.data();
  report.rank_count = static_cast<std::uint32_t>(ranks.size());
  report.rank_stride = sizeof(smg_rank_load);
  return report;
}

void totals(benchmark::State& state) {
  const auto ranks = some_ranks(static_cast<std::size_t>(state.range(0)));
  smg_load_report report = report_of(ranks);
  for (auto _ : state) {
    benchmark::DoNotOptimize(report);
    benchmark::DoNotOptimize(totals_of(report));
  }
}

void verdict(benchmark::State& state) {
  const auto ranks = some_ranks(static_cast<std::size_t>(state.range(0)));
  smg_load_report report = report_of(ranks);
  Ceilings ceilings{.waiting_requests = 8, .token_usage = 0.8};
  for (auto _ : state) {
    benchmark::DoNotOptimize(report);
    benchmark::DoNotOptimize(ceilings);
    benchmark::DoNotOptimize(is_overloaded(totals_of(report), ceilings));
  }
}

BENCHMARK(totals)->Arg(1)->Arg(8);
BENCHMARK(verdict)->Arg(1)->Arg(8);

}  // namespace

BENCHMARK_MAIN();
