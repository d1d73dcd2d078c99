// Four loops select from a pool while another thread takes workers out and brings them back.
//
// Workers 0..kSteady-1 never go; each of the others goes and comes. A choice is wrong if the
// worker is not eligible although no state changed or was about to during the call.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "defaults.hpp"
#include "fake_policy.hpp"
#include "fake_pool.hpp"

namespace smg::test {

struct ChurnResult {
  std::uint64_t selections = 0;
  std::uint64_t ineligible = 0;  // chosen while out, with nothing changing
  std::uint64_t declined = 0;
};

inline ChurnResult select_under_churn(const char* library) {
  constexpr std::uint32_t kWorkers = 16;
  constexpr std::uint32_t kSteady = 4;
  constexpr int kChanges = 20000;
  constexpr std::uint32_t kLoops = 4;

  FakeHost host(kLoops);
  set_defaults(host, library);
  LoadedPolicy policy(library, host);
  FakeFleet fleet(kWorkers);
  const auto pool = fleet.pool();
  std::atomic<bool> stop{false};
  std::atomic<std::uint32_t> running{0};
  std::vector<ChurnResult> results(kLoops);
  std::vector<std::thread> threads;
  for (std::uint32_t loop = 0; loop < kLoops; ++loop) {
    threads.emplace_back([&, loop] {
      const OnLoop on(loop);
      ChurnResult mine;
      std::uint64_t random = loop + 1;
      running.fetch_add(1);
      do {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const std::uint64_t before = smg_pool_epoch(pool->raw());
        const auto choice = policy.select(pool->raw(), random);
        ++mine.selections;
        if (!choice) {
          ++mine.declined;
        } else if (*choice >= kWorkers) {
          ++mine.ineligible;
        } else {
          const std::uint32_t state =
              __atomic_load_n(&pool->raw()->live[*choice]->state, __ATOMIC_ACQUIRE);
          if (smg_state_eligible(state) == 0 && before % 2 == 0 &&
              smg_pool_epoch(pool->raw()) == before) {
            ++mine.ineligible;
          }
        }
      } while (!stop.load());
      results[loop] = mine;
    });
  }
  while (running.load() < kLoops) std::this_thread::yield();
  for (int i = 0; i < kChanges; ++i) {
    const auto number = kSteady + static_cast<std::uint32_t>(i) % (kWorkers - kSteady);
    if ((i / (kWorkers - kSteady)) % 2 == 0) {
      fleet.down(number);
    } else {
      fleet.up(number);
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  ChurnResult sum;
  for (const ChurnResult& each : results) {
    sum.selections += each.selections;
    sum.ineligible += each.ineligible;
    sum.declined += each.declined;
  }
  return sum;
}

}  // namespace smg::test
