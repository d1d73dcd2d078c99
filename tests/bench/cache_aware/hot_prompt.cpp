// Where requests go that all begin with one system prompt: how many of the fleet's workers take
// part, and what share of the work the busiest one does, by the number of requests at a time.
//
// Each worker serves all that it has at the same pace; the oldest request of the fleet ends when
// the next one comes. Workers report empty queues, as engines with room in their batch do.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "cache_aware.hpp"
#include "fake_pool.hpp"
#include "option_defaults.hpp"
#include "quiet_host.hpp"

namespace {

using namespace smg::test;

constexpr std::uint32_t kWorkers = 8;
constexpr int kRequests = 4000;

void run(std::uint32_t at_a_time, double rel, std::int64_t abs) {
  QuietHost host(2);
  host.time = 1'000'000'000'000;
  set_defaults(host);
  host.floats["balance_rel_threshold"] = rel;
  host.ints["balance_abs_threshold"] = abs;
  FakeFleet fleet(kWorkers);
  for (std::uint32_t i = 0; i < kWorkers; ++i) fleet.report(i, 0, 0, 2000, 0.1);
  const auto pool = fleet.pool();
  cache_aware::CacheAware policy(smg::Host(host.quiet()));
  policy.pool_changed(nullptr, pool->raw());
  std::vector<std::uint32_t> in_flight(kWorkers, 0), total(kWorkers, 0);
  std::deque<std::uint32_t> running;
  std::mt19937_64 random(1);
  const std::string system(3000, 's');
  for (int i = 0; i < kRequests; ++i) {
    const std::string prompt = system + std::to_string(random()) + std::string(900, 'q');
    smg_policy_request request{};
    request.struct_size = sizeof request;
    request.now = host.time;
    request.random = random();
    request.text = view_of(prompt);
    const std::uint32_t chosen =
        policy.select(smg::Request(request), smg::Pool(*pool->raw())).value();
    ++total[chosen];
    fleet.set_in_flight(chosen, ++in_flight[chosen]);
    running.push_back(chosen);
    if (running.size() < at_a_time) continue;
    const std::uint32_t done = running.front();
    running.pop_front();
    fleet.set_in_flight(done, --in_flight[done]);
  }
  const auto used = std::count_if(total.begin(), total.end(), [](auto each) { return each > 0; });
  std::printf("%10u  %4.1f  %4ld  %6ld of %u  %5.1f %%  %8u\n", at_a_time, rel,
              static_cast<long>(abs), static_cast<long>(used), kWorkers,
              100.0 * *std::max_element(total.begin(), total.end()) / kRequests,
              *std::max_element(in_flight.begin(), in_flight.end()));
}

}  // namespace

int main() {
  std::printf("at a time   rel   abs  workers used  busiest  in flight\n");
  for (const std::uint32_t at_a_time : {1u, 8u, 32u, 64u, 96u, 128u, 256u, 1024u}) {
    run(at_a_time, 1.5, 64);
  }
  for (const std::uint32_t at_a_time : {1u, 8u, 32u, 64u, 256u}) run(at_a_time, 1.5, 4);
}
