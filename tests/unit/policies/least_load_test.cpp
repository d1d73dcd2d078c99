// least_load as it ships; its scorer is tested in expected_wait_test.cpp.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "defaults.hpp"
#include "fake_policy.hpp"
#include "fake_pool.hpp"

using smg::test::FakeFleet;
using smg::test::FakeHost;
using smg::test::LoadedPolicy;
using smg::test::next_random;
using smg::test::OnLoop;

TEST_CASE("least_load describes itself") {
  FakeHost host;
  smg::test::set_defaults(host, SMG_LEAST_LOAD);
  LoadedPolicy policy(SMG_LEAST_LOAD, host);
  CHECK(policy.api().needs == SMG_NEEDS_LOADS);
  const auto text = [](smg_view view) { return std::string(view.data, view.size); };
  for (const auto& [name, initial] : {std::pair{"kv_pressure_weight", "0.15"},
                                      {"mean_prefill_tokens", "1024"},
                                      {"default_throughput", "2000.0"},
                                      {"max_waiting_requests", "0"}}) {
    const smg_option* option = smg::test::find_option(policy.plugin(), name);
    REQUIRE(option != nullptr);
    CHECK(text(option->default_value) == initial);
    std::string flag = std::string("least-load-") + name;
    for (char& c : flag) c = c == '_' ? '-' : c;
    CHECK(text(option->flag) == flag);
  }
  const smg_option* interval = smg::test::find_option(policy.plugin(), "load_check_interval_secs");
  REQUIRE(interval != nullptr);
  CHECK(text(interval->default_value) == "10");
  CHECK(interval->minimum == 1);
}

// smg-project/smg#2341: found and credited in one step.
TEST_CASE("least_load: a burst from eight threads is spread exactly evenly") {
  constexpr std::uint32_t kWorkers = 5;
  constexpr std::uint32_t kEach = 1000;
  FakeHost host(8);
  smg::test::set_defaults(host, SMG_LEAST_LOAD);
  LoadedPolicy policy(SMG_LEAST_LOAD, host);
  FakeFleet fleet(kWorkers);
  for (std::uint32_t i = 0; i < kWorkers; ++i) fleet.report(i, 0, 0, 1000, 0.25);
  const auto pool = fleet.pool();
  std::array<std::atomic<std::uint32_t>, kWorkers> picks{};
  std::vector<std::thread> threads;
  for (std::uint32_t loop = 0; loop < 8; ++loop) {
    threads.emplace_back([&, loop] {
      const OnLoop on(loop);
      std::uint64_t state = loop;
      for (std::uint32_t i = 0; i < kEach; ++i) {
        picks[policy.select(pool->raw(), next_random(state)).value()].fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& count : picks) CHECK(count == 8 * kEach / kWorkers);
}

// sgl-project/sglang#27547, #32983: no herd on the first worker while nothing tells them apart.
TEST_CASE("least_load: equal workers are equally likely, whatever is known of them") {
  for (const bool reported : {false, true}) {
    CAPTURE(reported);
    FakeHost host;
    smg::test::set_defaults(host, SMG_LEAST_LOAD);
    LoadedPolicy policy(SMG_LEAST_LOAD, host);
    FakeFleet fleet(4);
    const auto pool = fleet.pool();
    std::vector<int> picks(4);
    std::uint64_t state = 1;
    for (int i = 0; i < 8000; ++i) {
      for (std::uint32_t w = 0; reported && w < 4; ++w) fleet.report(w, 0, 0, 1000, 0.25);
      ++picks[policy.select(pool->raw(), next_random(state)).value()];
    }
    double chi_square = 0;
    for (const int count : picks) chi_square += (count - 2000.0) * (count - 2000.0) / 2000.0;
    CHECK(chi_square < 16.3);  // 3 degrees of freedom: exceeded once in a thousand seeds
  }
}

TEST_CASE("least_load C8: at the cap everywhere is no choice, though workers are eligible") {
  FakeHost host;
  host.ints["max_waiting_requests"] = 4;
  smg::test::set_defaults(host, SMG_LEAST_LOAD);
  LoadedPolicy policy(SMG_LEAST_LOAD, host);
  FakeFleet fleet(2);
  fleet.report(0, 3, 0, 100, 0);
  fleet.report(1, 10, 0, 100, 0);
  const auto pool = fleet.pool();
  CHECK(policy.select(pool->raw()) == 0);
  CHECK_FALSE(policy.select(pool->raw()));
  fleet.no_report(1);
  CHECK(policy.select(pool->raw()) == 1);
}
