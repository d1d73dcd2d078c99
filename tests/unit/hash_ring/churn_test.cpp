// Four loops and a thread that is none select while workers come, go, fail and recover.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "ring_support.hpp"

using namespace smg;
using namespace smg::test;

namespace {

struct Found {
  std::uint64_t selections = 0;
  std::uint64_t wrong = 0;  // out of range, or ineligible with nothing changing
  std::uint64_t declined = 0;
};

Found churn(const char* library) {
  constexpr std::uint32_t kWorkers = 24;
  constexpr std::uint32_t kSteady = 4;  // never leave, never fail
  constexpr int kChanges = 300;
  constexpr std::uint32_t kLoops = 4;

  RingHost host(kLoops);
  host.floats["bounded_load_factor"] = 1.5;
  host.strings["cache_boundaries"] = "2,4";
  LoadedPolicy policy(library, host);
  FakeFleet fleet(kWorkers);
  std::vector<std::unique_ptr<FakePool>> pools;  // kept for requests on their way
  pools.push_back(fleet.pool());
  policy.pool_changed(nullptr, pools.back()->raw());
  std::atomic<const smg_pool*> current{pools.back()->raw()};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> made{0};
  std::vector<Found> results(kLoops + 1);
  std::vector<std::thread> threads;
  for (std::uint32_t loop = 0; loop <= kLoops; ++loop) {
    threads.emplace_back([&, loop] {
      const OnLoop on(loop < kLoops ? loop : SMG_LOOP_NONE);
      Found mine;
      Draw draw(loop);
      const smg_pool* pool = nullptr;
      while (!stop.load()) {
        if (pool == nullptr || draw.below(4) == 0) pool = current.load();
        const std::string key = "key-" + std::to_string(draw.below(1000));
        const std::uint32_t tokens[] = {draw.below(50), 1, draw.below(50), 2, 3};
        smg_policy_request request{};
        request.random = draw.bits();
        if (draw.below(2) == 0) {
          request.routing_key = view_of(key);
        } else {
          request.tokens = tokens;
          request.token_count = draw.below(6);
        }
        const std::uint64_t before = smg_pool_epoch(pool);
        const auto choice = policy.select(pool, request);
        ++mine.selections;
        made.fetch_add(1, std::memory_order_relaxed);
        if (!choice) {
          ++mine.declined;
        } else if (*choice >= pool->count) {
          ++mine.wrong;
        } else {
          const std::uint32_t state =
              __atomic_load_n(&pool->live[*choice]->state, __ATOMIC_ACQUIRE);
          if (smg_state_eligible(state) == 0 && before % 2 == 0 && smg_pool_epoch(pool) == before) {
            ++mine.wrong;
          }
        }
      }
      results[loop] = mine;
    });
  }
  Draw draw(99);
  for (int i = 0; i < kChanges; ++i) {
    std::vector<std::uint32_t> members;
    for (std::uint32_t w = 0; w < kWorkers; ++w) {
      if (w < kSteady || draw.below(3) != 0) members.push_back(w);
    }
    std::swap(members.front(), members[draw.below(static_cast<std::uint32_t>(members.size()))]);
    pools.push_back(fleet.pool(members));
    policy.pool_changed(current.load(), pools.back()->raw());
    current.store(pools.back()->raw());
    for (int j = 0; j < 20; ++j) {
      const std::uint32_t worker = kSteady + draw.below(kWorkers - kSteady);
      draw.below(2) == 0 ? fleet.down(worker) : fleet.up(worker);
      fleet.set_in_flight(draw.below(kWorkers), draw.below(40));
    }
    // So that selections fall between any two changes.
    const std::uint64_t seen = made.load();
    while (made.load() < seen + 20) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  policy.pool_changed(current.load(), nullptr);
  Found sum;
  for (const Found& each : results) {
    sum.selections += each.selections;
    sum.wrong += each.wrong;
    sum.declined += each.declined;
  }
  return sum;
}

}  // namespace

TEST_CASE("policies on a ring never choose an ineligible worker while pools and states change") {
  for (const char* library : {SMG_CONSISTENT_HASHING, SMG_PREFIX_HASH}) {
    const Found found = churn(library);
    CHECK(found.selections > 6000);
    CHECK(found.wrong == 0);
    CHECK(found.declined == 0);
  }
}
