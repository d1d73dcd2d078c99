// Section 6.5 of the policies page.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "defaults.hpp"
#include "fake_policy.hpp"
#include "fake_pool.hpp"

using smg::test::FakeFleet;
using smg::test::FakeHost;
using smg::test::LoadedPolicy;
using smg::test::next_random;

namespace {

// Without reports the fewer in flight win, so two orders of load show which two were drawn.
std::pair<std::uint32_t, std::uint32_t> drawn(const LoadedPolicy& policy, FakeFleet& fleet,
                                              const smg_pool* pool, std::uint64_t random) {
  for (std::uint32_t i = 0; i < fleet.size(); ++i) fleet.set_in_flight(i, i);
  const std::uint32_t low = policy.select(pool, random).value();
  for (std::uint32_t i = 0; i < fleet.size(); ++i) fleet.set_in_flight(i, fleet.size() - i);
  return {low, policy.select(pool, random).value()};
}

}  // namespace

TEST_CASE("power_of_two describes itself") {
  FakeHost host;
  LoadedPolicy policy(SMG_POWER_OF_TWO, host);
  CHECK(policy.api().needs == SMG_NEEDS_LOADS);
  const smg_option* interval = smg::test::find_option(policy.plugin(), "load_check_interval_secs");
  REQUIRE(interval != nullptr);
  CHECK(interval->minimum == 1);
  CHECK(interval->flag.size == 0);
  CHECK(policy.plugin().option_count == 1);
}

TEST_CASE("power_of_two C9: every two eligible workers are drawn equally often, and no other") {
  FakeHost host;
  LoadedPolicy policy(SMG_POWER_OF_TWO, host);
  FakeFleet fleet(9);
  fleet.down(3);
  fleet.set_state(8, SMG_STATUS_READY | SMG_STATE_OVERLOADED);
  const auto pool = fleet.pool();
  constexpr int kDraws = 42'000;
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> pairs;
  std::uint64_t state = 1;
  for (int i = 0; i < kDraws; ++i) {
    const auto pair = drawn(policy, fleet, pool->raw(), next_random(state));
    REQUIRE(pair.first < pair.second);
    ++pairs[pair];
  }
  CHECK(pairs.size() == 21);
  double chi_square = 0;
  for (const auto& [pair, count] : pairs) {
    CHECK(pair.first != 3);
    CHECK(pair.second != 3);
    CHECK(pair.second != 8);
    const double off = count - kDraws / 21.0;
    chi_square += off * off / (kDraws / 21.0);
  }
  CHECK(chi_square < 45.4);  // 20 degrees of freedom: exceeded once in a thousand seeds
}

TEST_CASE("power_of_two C5: without any report the fewest in flight win, the fullest never does") {
  FakeHost host;
  LoadedPolicy policy(SMG_POWER_OF_TWO, host);
  FakeFleet fleet(3);
  fleet.set_in_flight(0, 10);
  fleet.set_in_flight(1, 5);
  const auto pool = fleet.pool();
  std::vector<int> picks(3);
  std::uint64_t state = 1;
  for (int i = 0; i < 3000; ++i) ++picks[policy.select(pool->raw(), next_random(state)).value()];
  CHECK(picks[0] == 0);
  CHECK(picks[1] > 900);   // one pair of three
  CHECK(picks[2] > 1850);  // two pairs of three
}

TEST_CASE("power_of_two: the shorter expected wait of the two, what was sent since counted") {
  FakeHost host;
  LoadedPolicy policy(SMG_POWER_OF_TWO, host);
  FakeFleet fleet(2);
  const auto pool = fleet.pool();
  fleet.report(0, 0, 0, 100, 0.2);
  fleet.report(1, 0, 2048, 100, 0.2);
  fleet.set_in_flight(0, 100);
  CHECK(policy.select(pool->raw(), 1) == 0);
  CHECK(policy.select(pool->raw(), 2) == 0);
  std::set<std::uint32_t> third;
  for (std::uint64_t i = 0; i < 64; ++i) {
    fleet.report(0, 0, 2048, 100, 0.2);
    fleet.report(1, 0, 2048, 100, 0.2);
    third.insert(policy.select(pool->raw(), i * 0x9e3779b97f4a7c15u).value());
  }
  CHECK(third == std::set<std::uint32_t>{0, 1});
}

TEST_CASE("power_of_two: one eligible worker is the choice, none is no choice") {
  FakeHost host;
  LoadedPolicy policy(SMG_POWER_OF_TWO, host);
  FakeFleet fleet(2);
  const auto pool = fleet.pool();
  fleet.down(0);
  CHECK(policy.select(pool->raw()) == 1);
  fleet.down(1);
  CHECK_FALSE(policy.select(pool->raw()));
}
