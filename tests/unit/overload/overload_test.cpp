#include "host/fleet/overload.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace smg;

namespace {

struct Rank {
  std::int32_t waiting;
  double usage;
};

bool overloaded(const Ceilings& ceilings, const std::vector<Rank>& figures) {
  std::vector<smg_rank_load> ranks;
  for (const Rank& figure : figures) {
    smg_rank_load rank{};
    rank.struct_size = sizeof rank;
    rank.waiting_requests = figure.waiting;
    rank.token_usage = figure.usage;
    ranks.push_back(rank);
  }
  smg_load_report report{};
  report.struct_size = sizeof report;
  report.ranks = ranks.data();
  report.rank_count = static_cast<std::uint32_t>(ranks.size());
  report.rank_stride = sizeof(smg_rank_load);
  return is_overloaded(totals_of(report), ceilings);
}

Ceilings waiting(std::int64_t at) {
  return {.waiting_requests = at, .token_usage = {}};
}
Ceilings usage(double at) {
  return {.waiting_requests = {}, .token_usage = at};
}

}  // namespace

TEST_CASE("overload 2.2.2: the waiting ceiling is inclusive") {
  CHECK_FALSE(overloaded(waiting(8), {{7, 0}}));
  CHECK(overloaded(waiting(8), {{8, 0}}));
  CHECK(overloaded(waiting(8), {{9, 0}}));
}

TEST_CASE("overload 2.2.2: the usage ceiling is inclusive, in double precision") {
  CHECK_FALSE(overloaded(usage(0.9), {{0, 0.89}}));
  CHECK(overloaded(usage(0.9), {{0, 0.9}}));
  CHECK(overloaded(usage(0.8), {{0, 0.8}}));
  CHECK(overloaded(usage(1.0), {{0, 1.0}}));
  CHECK_FALSE(overloaded(usage(1.0), {{0, 0.999999}}));
}

TEST_CASE("overload 2.2.2: either signal is enough") {
  const Ceilings both{.waiting_requests = 4, .token_usage = 0.8};
  CHECK_FALSE(overloaded(both, {{3, 0.7}}));
  CHECK(overloaded(both, {{4, 0.1}}));
  CHECK(overloaded(both, {{0, 0.8}}));
}

TEST_CASE("overload 2.2.2: usage is the mean of the ranks, waiting their sum") {
  CHECK_FALSE(overloaded(usage(0.9), {{0, 1.0}, {0, 0.5}}));
  CHECK(overloaded(usage(0.9), {{0, 1.0}, {0, 0.8}}));
  CHECK(overloaded(waiting(8), {{5, 0}, {3, 0}}));
  CHECK_FALSE(overloaded(waiting(8), {{5, 0}, {2, 0}}));
}

TEST_CASE("overload 2.2.2: without ceilings nothing trips") {
  CHECK_FALSE(overloaded({}, {{10000, 1.0}}));
}

TEST_CASE("overload 2.2.3: reported values are taken as they are") {
  CHECK_FALSE(overloaded(usage(0.1), {{0, std::nan("")}}));
  CHECK_FALSE(overloaded(usage(0.1), {{0, 1.0}, {0, std::nan("")}}));
  CHECK(overloaded(usage(0.9), {{0, std::numeric_limits<double>::infinity()}}));
  CHECK_FALSE(overloaded(waiting(8), {{10, 0}, {-3, 0}}));
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  CHECK(overloaded(waiting(8), {{kMost, 0}, {kMost, 0}}));
}

TEST_CASE("overload 2.4.1: a report without ranks trips nothing") {
  CHECK_FALSE(overloaded({.waiting_requests = 1, .token_usage = 0.01}, {}));
}

TEST_CASE("overload 1.3.2: a worker's block wins per signal") {
  const Ceilings gateway{.waiting_requests = 16, .token_usage = 0.9};
  CHECK(resolve_ceilings(usage(0.5), gateway) ==
        Ceilings{.waiting_requests = 16, .token_usage = 0.5});
  CHECK(resolve_ceilings({}, gateway) == gateway);
  CHECK(resolve_ceilings(waiting(4), {}) == waiting(4));
  CHECK_FALSE(overloaded(resolve_ceilings(waiting(4), {}), {{0, 1.0}}));
  CHECK_FALSE(resolve_ceilings({}, {}).any());
}
