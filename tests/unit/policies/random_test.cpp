#include <doctest/doctest.h>

#include <vector>

#include "churn.hpp"
#include "fake_policy.hpp"
#include "fake_pool.hpp"

using smg::test::FakeFleet;
using smg::test::FakeHost;
using smg::test::LoadedPolicy;

namespace {

std::uint64_t next(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

TEST_CASE("random describes itself") {
  FakeHost host;
  LoadedPolicy policy(SMG_RANDOM, host);
  CHECK(policy.plugin().kind == SMG_KIND_POLICY);
  CHECK(std::string_view(policy.plugin().name.data, policy.plugin().name.size) == "random");
  CHECK(policy.plugin().option_count == 0);
  CHECK((policy.plugin().flags & SMG_PLUGIN_UNLOADABLE) != 0);
}

TEST_CASE("random picks every eligible worker equally often and no other") {
  FakeHost host;
  LoadedPolicy policy(SMG_RANDOM, host);
  FakeFleet fleet(7);
  fleet.down(2);
  fleet.set_state(5, SMG_STATUS_READY | SMG_STATE_OVERLOADED);
  const auto pool = fleet.pool();
  std::vector<int> picks(7);
  std::uint64_t state = 1;
  constexpr int kRequests = 50000;
  for (int i = 0; i < kRequests; ++i) ++picks[policy.select(pool->raw(), next(state)).value()];
  double chi_square = 0;
  for (const std::uint32_t worker : {0u, 1u, 3u, 4u, 6u}) {
    const double off = picks[worker] - kRequests / 5.0;
    chi_square += off * off / (kRequests / 5.0);
  }
  CHECK(chi_square < 18.5);  // 4 degrees of freedom: exceeded once in a thousand seeds
  CHECK(picks[2] == 0);
  CHECK(picks[5] == 0);
}

TEST_CASE("random follows the request's random bits") {
  FakeHost host;
  LoadedPolicy policy(SMG_RANDOM, host);
  FakeFleet fleet(4);
  const auto pool = fleet.pool();
  CHECK(policy.select(pool->raw(), 0) == 0);
  CHECK(policy.select(pool->raw(), 0x4000000000000000u) == 1);
  CHECK(policy.select(pool->raw(), 0x8000000000000000u) == 2);
  CHECK(policy.select(pool->raw(), 0xffffffffffffffffu) == 3);
}

TEST_CASE("random declines when nobody is eligible, and comes back") {
  FakeHost host;
  LoadedPolicy policy(SMG_RANDOM, host);
  FakeFleet fleet(2);
  const auto pool = fleet.pool();
  const auto empty = fleet.pool({});
  CHECK_FALSE(policy.select(empty->raw()));
  fleet.down(0);
  fleet.set_state(1, SMG_STATUS_READY | SMG_STATE_BREAKER_OPEN);
  CHECK_FALSE(policy.select(pool->raw()));
  fleet.set_state(1, SMG_STATUS_READY | SMG_STATE_BREAKER_HALF_OPEN);
  CHECK(policy.select(pool->raw()) == 1);
}

TEST_CASE("random never picks an ineligible worker under churn") {
  const auto result = smg::test::select_under_churn(SMG_RANDOM);
  CHECK(result.selections > 0);
  CHECK(result.ineligible == 0);
  CHECK(result.declined == 0);
}
