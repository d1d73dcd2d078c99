// Section 10.C of the policies page: the scorer of least_load and power_of_two.
#include "expected_wait.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <optional>
#include <set>

#include "fake_pool.hpp"

using namespace smg;
using smg::test::FakeFleet;

namespace {

struct Bench {
  explicit Bench(std::uint32_t count, ExpectedWaitTunables tunables = {})
      : fleet(count), wait(tunables), pool(fleet.pool()) {
    for (std::uint32_t i = 0; i < count; ++i) all.push_back(i);
  }
  void report(std::uint32_t worker, std::int64_t tokens, double throughput, double usage,
              std::int64_t waiting = 0) {
    auto& live = fleet.live(worker);
    live.report_valid = 1;
    ++live.report_sequence;
    live.waiting_uncached_tokens = tokens;
    live.waiting_requests = waiting;
    live.throughput = throughput;
    live.token_usage = usage;
  }
  std::optional<std::uint32_t> choose(std::uint64_t random = 1) {
    smg_policy_request request{};
    request.struct_size = sizeof request;
    request.random = random;
    return wait.choose(Request(request), Pool(*pool->raw()), all);
  }
  // All that are chosen by fresh books, over many random numbers.
  static std::set<std::uint32_t> choices(const std::function<void(Bench&)>& prepare,
                                         std::uint32_t count) {
    std::set<std::uint32_t> seen;
    for (std::uint64_t i = 0; i < 64; ++i) {
      Bench bench(count);
      prepare(bench);
      seen.insert(bench.choose(i * 0x9e3779b97f4a7c15u + 1).value());
    }
    return seen;
  }

  FakeFleet fleet;
  ExpectedWait wait;
  std::unique_ptr<test::FakePool> pool;
  std::vector<std::uint32_t> all;
};

}  // namespace

TEST_CASE("policies C1: the barrier makes a nearly full cache worse than a queue") {
  Bench bench(3);
  bench.report(0, 4000, 1000, 0.5);
  bench.report(1, 1000, 500, 0.8);
  bench.report(2, 0, 2000, 0.95);
  CHECK(bench.choose() == 1);
}

TEST_CASE("policies C2: what was sent since the report counts, until the next report") {
  std::set<std::uint32_t> third;
  for (std::uint64_t i = 0; i < 64; ++i) {
    Bench bench(2);
    bench.report(0, 0, 100, 0.2);
    bench.report(1, 2048, 100, 0.2);
    CHECK(bench.choose() == 0);
    CHECK(bench.choose() == 0);
    third.insert(bench.choose(i * 0x9e3779b97f4a7c15u + 1).value());
    bench.report(0, 0, 100, 0.2);
    CHECK(bench.choose() == 0);
  }
  CHECK(third == std::set<std::uint32_t>{0, 1});
}

TEST_CASE("policies C3: an unreported worker is the best reported one plus its own load") {
  Bench bench(2);
  bench.report(0, 4000, 100, 0);
  bench.fleet.live(1).in_flight = 5;
  CHECK(bench.choose() == 0);
}

TEST_CASE("policies C4: an idle unreported worker ties with the best, it does not attract all") {
  CHECK(Bench::choices([](Bench& bench) { bench.report(0, 1000, 100, 0.2); }, 2) ==
        std::set<std::uint32_t>{0, 1});
}

TEST_CASE("policies C5: without any report the fewest in flight win") {
  Bench bench(3);
  bench.fleet.live(0).in_flight = 10;
  bench.fleet.live(1).in_flight = 5;
  CHECK(bench.choose() == 2);
}

TEST_CASE("policies C6, C7: waiting requests stand in for tokens, a NaN usage for none") {
  // 3 x 1024 / 2000 + 0.0167 = 1.5527 against 1.56 and 1.55.
  Bench bench(2);
  bench.report(0, 0, 0, 0.1, 3);
  bench.report(1, 3120, 2000, 0);
  CHECK(bench.choose() == 0);
  Bench other(2);
  other.report(0, 0, 0, 0.1, 3);
  other.report(1, 3100, 2000, std::numeric_limits<double>::quiet_NaN());
  CHECK(other.choose() == 1);
}

TEST_CASE("policies C8: the cap counts what was sent since the poll") {
  Bench bench(2, {.max_waiting_requests = 4});
  bench.report(0, 0, 100, 0, 3);
  bench.report(1, 0, 100, 0, 10);
  CHECK(bench.choose() == 0);
  CHECK(bench.choose() == std::nullopt);
  Bench unreported(2, {.max_waiting_requests = 4});
  unreported.report(0, 0, 100, 0, 4);
  CHECK(unreported.choose() == 1);
}

TEST_CASE("a worker that took over another's slot starts without its books") {
  Bench bench(2);
  bench.report(0, 0, 100, 0);
  bench.report(1, 512, 100, 0);
  CHECK(bench.choose() == 0);
  CHECK(bench.choose() == 1);
  const_cast<smg_worker*>(bench.pool->raw()->workers[0])->ref = 99;
  CHECK(bench.choose() == 0);
}
