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

TEST_CASE("policies C7: figures are sums over the ranks, usage their mean") {
  // 1000 / 200 + 0.15 = 5.15 against 5.16 and 5.14.
  Bench bench(2);
  bench.report(0, 1000, 200, 0.5);
  bench.report(1, 5160, 1000, 0);
  CHECK(bench.choose() == 0);
  Bench other(2);
  other.report(0, 1000, 200, 0.5);
  other.report(1, 5140, 1000, 0);
  CHECK(other.choose() == 1);
}

TEST_CASE("a report clears the credit of its own worker and of no other") {
  Bench bench(3);
  bench.report(0, 0, 100, 0);
  bench.report(1, 0, 100, 0);
  bench.report(2, 512, 100, 0);
  std::set<std::uint32_t> first{bench.choose().value(), bench.choose().value()};
  CHECK(first == std::set<std::uint32_t>{0, 1});
  bench.report(0, 0, 100, 0);  // 0, 1024, 512
  CHECK(bench.choose() == 0);  // 1024, 1024, 512
  CHECK(bench.choose() == 2);  // 1024, 1024, 1536
  CHECK(bench.choose() != 2);
}

TEST_CASE("a worker whose polls fail counts as one that never reported") {
  Bench bench(2);
  bench.report(0, 0, 100, 0);
  bench.report(1, 4096, 100, 0);
  bench.fleet.no_report(0);
  bench.fleet.set_in_flight(0, 1);
  CHECK(bench.choose() == 1);  // 40.96 against 40.96 + 1 x 1024 / 100
  bench.fleet.set_in_flight(0, 0);
  bench.fleet.no_report(1);
  bench.fleet.set_in_flight(1, 1);
  CHECK(bench.choose() == 0);
}

TEST_CASE("what was sent while a worker was unreported is gone with its next report") {
  Bench bench(2);
  bench.report(0, 100, 100, 0);
  bench.fleet.no_report(0);
  bench.fleet.no_report(1);
  bench.fleet.set_in_flight(1, 9);
  for (int i = 0; i < 5; ++i) CHECK(bench.choose() == 0);
  bench.report(0, 0, 100, 0);
  bench.report(1, 100, 100, 0);
  CHECK(bench.choose() == 0);
}

TEST_CASE("figures that are no numbers, or below zero, count as not said") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double throughput : {nan, -5.0, 0.0, infinite, -infinite}) {
    CAPTURE(throughput);
    // 2000 tokens at the default of 2000 per second: 1 s.
    Bench longer(2);
    longer.report(0, 2000, throughput, 0);
    longer.report(1, 1100, 1000, 0);
    CHECK(longer.choose() == 0);
    Bench shorter(2);
    shorter.report(0, 2000, throughput, 0);
    shorter.report(1, 900, 1000, 0);
    CHECK(shorter.choose() == 1);
  }
  for (const double usage : {nan, -1.0, -infinite}) {
    CAPTURE(usage);
    Bench bench(2);
    bench.report(0, 100, 1000, usage);
    bench.report(1, 101, 1000, 0);
    CHECK(bench.choose() == 0);
  }
  // A usage above 1 is the full barrier, 149.85 s.
  for (const double usage : {1.0, 7.0, infinite}) {
    CAPTURE(usage);
    Bench bench(2);
    bench.report(0, 0, 1000, usage);
    bench.report(1, 149'800, 1000, 0);
    CHECK(bench.choose() == 1);
    bench.report(1, 149'900, 1000, 0);
    CHECK(bench.choose() == 0);
  }
  // -3 waiting requests are none.
  Bench bench(2);
  bench.report(0, -7, 1000, 0, -3);
  bench.report(1, 1, 1000, 0);
  CHECK(bench.choose() == 0);
  CHECK(bench.choose() == 1);
}

TEST_CASE("a request whose tokens are known is credited with these") {
  Bench bench(2);
  bench.report(0, 0, 100, 0);
  bench.report(1, 10, 100, 0);
  const std::uint32_t tokens[20] = {};
  smg_policy_request request{};
  request.tokens = tokens;
  request.token_count = 8;
  CHECK(bench.wait.choose(Request(request), Pool(*bench.pool->raw()), bench.all) == 0);
  CHECK(bench.wait.choose(Request(request), Pool(*bench.pool->raw()), bench.all) == 0);
  CHECK(bench.wait.choose(Request(request), Pool(*bench.pool->raw()), bench.all) == 1);
}

TEST_CASE("books in many stripes are the same books") {
  FakeFleet fleet(130);
  const auto pool = fleet.pool();
  ExpectedWait wait({}, 64);
  for (std::uint32_t i = 0; i < 130; ++i) fleet.report(i, 0, 0, 100, 0);
  smg_policy_request request{};
  for (const std::uint32_t second : {1u, 64u, 129u}) {  // of another stripe, of the same
    fleet.report(0, 0, 0, 100, 0);
    fleet.report(second, 0, 1500, 100, 0);
    const std::uint32_t pair[] = {second, 0};
    CHECK(wait.choose(Request(request), Pool(*pool->raw()), pair) == 0);
    CHECK(wait.choose(Request(request), Pool(*pool->raw()), pair) == 0);
    CHECK(wait.choose(Request(request), Pool(*pool->raw()), pair) == second);
  }
}
