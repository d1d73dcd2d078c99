// What holds for every policy that ships here: it never picks a worker that may not be chosen.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "churn.hpp"
#include "defaults.hpp"
#include "fake_policy.hpp"
#include "fake_pool.hpp"

using smg::test::FakeFleet;
using smg::test::FakeHost;
using smg::test::FakePool;
using smg::test::LoadedPolicy;
using smg::test::next_random;
using smg::test::OnLoop;

namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr const char* kLibraries[] = {
    SMG_BUCKET,      SMG_CACHE_AWARE,  SMG_CONSISTENT_HASHING, SMG_LEAST_LOAD, SMG_MANUAL,
    SMG_PASSTHROUGH, SMG_POWER_OF_TWO, SMG_PREFIX_HASH,        SMG_RANDOM,     SMG_ROUND_ROBIN};

constexpr std::uint32_t kStates[] = {SMG_STATUS_READY,
                                     SMG_STATUS_READY,
                                     SMG_STATUS_READY | SMG_STATE_BREAKER_HALF_OPEN,
                                     SMG_STATUS_READY | SMG_STATE_BREAKER_OPEN,
                                     SMG_STATUS_READY | SMG_STATE_OVERLOADED,
                                     SMG_STATUS_READY | SMG_STATE_UNREACHABLE,
                                     SMG_STATUS_READY | SMG_STATE_WEDGED,
                                     SMG_STATUS_PENDING,
                                     SMG_STATUS_NOT_READY,
                                     SMG_STATUS_FAILED,
                                     SMG_STATUS_DRAINING};

// Few keys and sizes, so that they meet again.
struct RandomRequest {
  explicit RandomRequest(std::uint64_t& random, std::uint64_t now) {
    const std::uint64_t bits = next_random(random);
    key = "k" + std::to_string(bits % 32);
    tokens.resize((bits >> 16) % 6000);
    raw.now = now;
    raw.random = next_random(random);
    raw.leg = static_cast<std::uint32_t>((bits >> 40) % 3);
    if ((bits >> 48) % 4 != 0) raw.routing_key = smg::test::view_of(key);
    if ((bits >> 52) % 2 == 0) {
      text = key + std::string(tokens.size(), 'x');
      raw.text = smg::test::view_of(text);
    } else {
      raw.tokens = tokens.data();
      raw.token_count = tokens.size();
    }
  }
  std::string key;
  std::string text;
  std::vector<std::uint32_t> tokens;
  smg_policy_request raw{};
};

std::unique_ptr<FakePool> random_pool(FakeFleet& fleet, std::uint64_t& random) {
  std::vector<std::uint32_t> members;
  for (std::uint32_t i = 0; i < fleet.size(); ++i) {
    if (next_random(random) % 4 != 0) members.push_back(i);
  }
  for (std::size_t i = members.size(); i > 1; --i) {
    std::swap(members[i - 1], members[next_random(random) % i]);
  }
  return fleet.pool(members);
}

}  // namespace

TEST_CASE("every policy: never an ineligible worker under random vetoes, reports and churn") {
  for (const char* library : kLibraries) {
    CAPTURE(library);
    for (const std::uint32_t type : {SMG_WORKER_REGULAR, SMG_WORKER_PREFILL}) {
      FakeHost host;
      smg::test::set_defaults(host, library);
      const LoadedPolicy policy(library, host);
      std::uint64_t random = 42;
      FakeFleet fleet(12);
      for (std::uint32_t i = 0; i < fleet.size(); ++i) fleet.worker(i).type = type;
      std::unique_ptr<FakePool> pool = random_pool(fleet, random);
      policy.pool_changed(nullptr, pool->raw());
      std::unique_ptr<FakePool> older = fleet.pool();
      int wrong = 0;
      int declined_wrongly = 0;
      for (int step = 0; step < 20'000; ++step) {
        const auto worker = static_cast<std::uint32_t>(next_random(random) % fleet.size());
        const std::uint64_t what = next_random(random) % 16;
        if (what < 4) fleet.set_state(worker, kStates[next_random(random) % std::size(kStates)]);
        if (what == 4) fleet.report(worker, static_cast<int>(random % 50), 0, 1000, 0.5);
        if (what == 5) fleet.no_report(worker);
        if (what == 6) fleet.set_in_flight(worker, static_cast<std::uint32_t>(random % 20));
        if (what == 7) host.advance(300 * kMillisecond);
        if (what == 8) {
          std::unique_ptr<FakePool> next = random_pool(fleet, random);
          policy.pool_changed(pool->raw(), next->raw());
          older = std::exchange(pool, std::move(next));
        }
        const FakePool& from = what == 9 ? *older : *pool;
        const OnLoop on(next_random(random) % 8 == 0 ? SMG_LOOP_NONE : 0);
        const auto choice = policy.select(from.raw(), RandomRequest(random, host.time).raw);
        bool any = false;
        for (std::uint32_t i = 0; i < from.raw()->count; ++i) {
          any = any || smg_pool_eligible(from.raw(), i) != 0;
        }
        if (!choice) {
          declined_wrongly += any ? 1 : 0;
        } else if (*choice >= from.raw()->count || smg_pool_eligible(from.raw(), *choice) == 0) {
          ++wrong;
        }
      }
      CHECK(wrong == 0);
      CHECK(declined_wrongly == 0);
    }
  }
}

TEST_CASE("every policy: four loops select while workers come and go, and nobody is wrong") {
  for (const char* library : kLibraries) {
    CAPTURE(library);
    const auto result = smg::test::select_under_churn(library);
    CHECK(result.selections > 0);
    CHECK(result.ineligible == 0);
    CHECK(result.declined == 0);
  }
}

TEST_CASE("every policy: eight threads select while membership, state and reports change") {
  constexpr std::uint32_t kThreads = 8;
  for (const char* library : kLibraries) {
    CAPTURE(library);
    FakeHost host(kThreads);
    host.ints["eviction_interval_secs"] = 1;
    host.ints["max_idle_secs"] = 1;
    host.ints["bucket_adjust_interval_secs"] = 1;
    smg::test::set_defaults(host, library);
    const LoadedPolicy policy(library, host);
    FakeFleet fleet(12);
    for (std::uint32_t i = 0; i < fleet.size(); ++i) fleet.worker(i).type = SMG_WORKER_PREFILL;
    std::mutex mutex;
    std::shared_ptr<FakePool> pool = fleet.pool();
    policy.pool_changed(nullptr, pool->raw());
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> selections{0};
    std::atomic<std::uint64_t> out_of_range{0};
    std::vector<std::thread> threads;
    for (std::uint32_t number = 0; number < kThreads; ++number) {
      threads.emplace_back([&, number] {
        const OnLoop on(number % 4 == 3 ? SMG_LOOP_NONE : number);
        std::uint64_t random = number + 1;
        while (!stop.load()) {
          std::shared_ptr<FakePool> seen;
          {
            const std::lock_guard lock(mutex);
            seen = pool;
          }
          for (int i = 0; i < 20; ++i) {
            const RandomRequest request(random, host.time);
            const auto choice = policy.select(seen->raw(), request.raw);
            if (choice && *choice >= seen->raw()->count) out_of_range.fetch_add(1);
            selections.fetch_add(1);
          }
        }
      });
    }
    std::uint64_t random = 7;
    for (int i = 0; i < 300 || selections.load() < 2000; ++i) {
      const auto worker = static_cast<std::uint32_t>(next_random(random) % fleet.size());
      fleet.set_state(worker, kStates[next_random(random) % std::size(kStates)]);
      fleet.report(worker, static_cast<int>(random % 50), 0, 1000, 0.5);
      if (i % 4 == 0) {
        std::shared_ptr<FakePool> next = random_pool(fleet, random);
        policy.pool_changed(pool->raw(), next->raw());
        const std::lock_guard lock(mutex);
        pool.swap(next);
      }
      host.advance(100 * kMillisecond);
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
    CHECK(out_of_range == 0);
  }
}
