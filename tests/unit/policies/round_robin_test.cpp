#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "churn.hpp"
#include "fake_policy.hpp"
#include "fake_pool.hpp"

using smg::test::FakeFleet;
using smg::test::FakeHost;
using smg::test::FakePool;
using smg::test::LoadedPolicy;
using smg::test::OnLoop;

namespace {

std::vector<std::uint32_t> turns(const LoadedPolicy& policy, const FakePool& pool, int count) {
  std::vector<std::uint32_t> result;
  for (int i = 0; i < count; ++i) result.push_back(policy.select(pool.raw()).value());
  return result;
}

using Turns = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("round_robin describes itself") {
  FakeHost host;
  LoadedPolicy policy(SMG_ROUND_ROBIN, host);
  CHECK(policy.plugin().kind == SMG_KIND_POLICY);
  CHECK(std::string_view(policy.plugin().name.data, policy.plugin().name.size) == "round_robin");
  CHECK(policy.plugin().option_count == 0);
  CHECK((policy.plugin().flags & SMG_PLUGIN_UNLOADABLE) != 0);
}

TEST_CASE("G1: the eligible workers in turn") {
  FakeHost host;
  LoadedPolicy policy(SMG_ROUND_ROBIN, host);
  FakeFleet fleet(3);
  fleet.down(1);
  const auto pool = fleet.pool();
  CHECK(turns(policy, *pool, 4) == Turns{0, 2, 0, 2});
}

TEST_CASE("G2: two sets that alternate do not alias") {
  FakeHost host;
  LoadedPolicy policy(SMG_ROUND_ROBIN, host);
  FakeFleet fleet(4);
  const auto a = fleet.pool({0, 1}, "a");
  const auto b = fleet.pool({2, 3}, "b");
  Turns seen;
  for (int i = 0; i < 3; ++i) {
    seen.push_back(policy.select(a->raw()).value());
    seen.push_back(policy.select(b->raw()).value());
  }
  CHECK(seen == Turns{0, 1, 1, 0, 0, 1});
}

TEST_CASE("G3: a worker that returns brings the old rotation back") {
  FakeHost host;
  LoadedPolicy policy(SMG_ROUND_ROBIN, host);
  FakeFleet fleet(4);
  const auto pool = fleet.pool();
  CHECK(turns(policy, *pool, 1) == Turns{0});
  fleet.down(2);
  CHECK(turns(policy, *pool, 2) == Turns{1, 3});
  fleet.up(2);
  CHECK(turns(policy, *pool, 1) == Turns{1});
}

TEST_CASE("a new pool of the same workers goes on with their rotation") {
  FakeHost host;
  LoadedPolicy policy(SMG_ROUND_ROBIN, host);
  FakeFleet fleet(3);
  const auto before = fleet.pool();
  CHECK(turns(policy, *before, 2) == Turns{0, 1});
  const auto after = fleet.pool();
  CHECK(turns(policy, *after, 2) == Turns{2, 0});
}

TEST_CASE("the order of the workers is part of a set") {
  FakeHost host;
  LoadedPolicy policy(SMG_ROUND_ROBIN, host);
  FakeFleet fleet(2);
  const auto forth = fleet.pool({0, 1});
  const auto back = fleet.pool({1, 0});
  CHECK(turns(policy, *forth, 1) == Turns{0});
  CHECK(turns(policy, *back, 1) == Turns{1});  // a set of its own, so the second start
  CHECK(turns(policy, *forth, 1) == Turns{1});
}

TEST_CASE("loops and other threads share one rotation") {
  FakeHost host(3);
  LoadedPolicy policy(SMG_ROUND_ROBIN, host);
  FakeFleet fleet(4);
  const auto pool = fleet.pool();
  Turns seen;
  for (const std::uint32_t loop : {0u, 1u, SMG_LOOP_NONE, 2u}) {
    const OnLoop on(loop);
    seen.push_back(policy.select(pool->raw()).value());
  }
  CHECK(seen == Turns{0, 1, 2, 3});
}

TEST_CASE("of 4096 sets the least recently used makes room") {
  FakeHost host;
  LoadedPolicy policy(SMG_ROUND_ROBIN, host);
  FakeFleet fleet(4098);
  const auto pair = [&](std::uint32_t number) { return fleet.pool({0, number}); };
  // 4096 sets, of which set i starts at i: even ones with their first worker, odd ones with the
  // second.
  for (std::uint32_t i = 0; i < 4096; ++i) REQUIRE(turns(policy, *pair(i + 1), 1) == Turns{i % 2});
  CHECK(turns(policy, *pair(1), 1) == Turns{1});     // set 0 goes on, and is the latest used now
  CHECK(turns(policy, *pair(4097), 1) == Turns{0});  // set 4096: set 1 has to go
  CHECK(turns(policy, *pair(1), 1) == Turns{0});     // set 0 still goes on
  CHECK(turns(policy, *pair(2), 1) == Turns{1});     // set 1 is new: starts at 4097
}

TEST_CASE("a set that made room while a loop kept its pool starts anew") {
  FakeHost host;
  LoadedPolicy policy(SMG_ROUND_ROBIN, host);
  FakeFleet fleet(4200);
  const OnLoop on(0);
  const auto kept = fleet.pool({0, 1});
  CHECK(turns(policy, *kept, 2) == Turns{0, 1});  // start 0; it would go on with worker 0
  for (std::uint32_t i = 2; i < 4100; ++i) turns(policy, *fleet.pool({0, i}), 1);
  // 1 + 4098 starts are given out, so this one is 4099: odd, the second worker.
  CHECK(turns(policy, *kept, 2) == Turns{1, 0});
}

TEST_CASE("round_robin declines when nobody is eligible, and comes back") {
  FakeHost host;
  LoadedPolicy policy(SMG_ROUND_ROBIN, host);
  FakeFleet fleet(2);
  const auto pool = fleet.pool();
  const auto empty = fleet.pool({});
  CHECK_FALSE(policy.select(empty->raw()));
  fleet.set_state(0, SMG_STATUS_DRAINING);
  fleet.set_state(1, SMG_STATUS_READY | SMG_STATE_WEDGED);
  CHECK_FALSE(policy.select(pool->raw()));
  fleet.up(1);
  CHECK(policy.select(pool->raw()) == 1);
}

TEST_CASE("four loops at once spread requests exactly evenly") {
  constexpr std::uint32_t kWorkers = 5;
  constexpr std::uint32_t kEach = 20000;
  FakeHost host(4);
  LoadedPolicy policy(SMG_ROUND_ROBIN, host);
  FakeFleet fleet(kWorkers);
  const auto pool = fleet.pool();
  std::array<std::atomic<std::uint32_t>, kWorkers> picks{};
  std::vector<std::thread> threads;
  for (std::uint32_t loop = 0; loop < 4; ++loop) {
    threads.emplace_back([&, loop] {
      const OnLoop on(loop);
      for (std::uint32_t i = 0; i < kEach; ++i) {
        picks[policy.select(pool->raw()).value_or(0)].fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& count : picks) CHECK(count.load() == 4 * kEach / kWorkers);
}

TEST_CASE("round_robin never picks an ineligible worker under churn") {
  const auto result = smg::test::select_under_churn(SMG_ROUND_ROBIN);
  CHECK(result.selections > 0);
  CHECK(result.ineligible == 0);
  CHECK(result.declined == 0);
}
