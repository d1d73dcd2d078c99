#include "host/fleet/breaker.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace smg;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

struct Bench {
  std::string moves;
  Breaker breaker{{.failures = 3, .successes = 2, .open_for = 60 * kSecond},
                  [this](BreakerState before, BreakerState after) {
                    moves += std::string(name_of(before)) + ">" + std::string(name_of(after)) + " ";
                  }};
  void record(const char* outcomes, std::uint64_t now = 0) {
    for (; *outcomes != '\0'; ++outcomes) breaker.record(*outcomes == '+', now);
  }
};

}  // namespace

TEST_CASE("http-api 4.13.2: a run of failures opens it, a success ends the run") {
  Bench bench;
  bench.record("--+--+--");
  CHECK(bench.breaker.state() == BreakerState::closed);
  CHECK(bench.breaker.failures() == 2);
  bench.record("-");
  CHECK(bench.breaker.state() == BreakerState::open);
  CHECK(bench.moves == "closed>open ");
}

TEST_CASE("http-api 4.13.3: it half-opens when its time has passed, with both runs at zero") {
  Bench bench;
  bench.record("---", 5 * kSecond);
  bench.breaker.look(65 * kSecond - 1);
  CHECK(bench.breaker.state() == BreakerState::open);
  bench.breaker.look(65 * kSecond);
  CHECK(bench.breaker.state() == BreakerState::half_open);
  CHECK(bench.breaker.failures() == 0);
  CHECK(bench.breaker.successes() == 0);
}

TEST_CASE("http-api 4.13.4: half-open, one failure opens it again, a run of successes closes it") {
  Bench bench;
  bench.record("---");
  bench.breaker.look(60 * kSecond);
  bench.record("+-", 61 * kSecond);
  CHECK(bench.breaker.state() == BreakerState::open);
  bench.breaker.look(120 * kSecond);
  CHECK(bench.breaker.state() == BreakerState::open);
  bench.breaker.look(121 * kSecond);
  bench.record("++", 122 * kSecond);
  CHECK(bench.breaker.state() == BreakerState::closed);
  CHECK(bench.moves ==
        "closed>open open>half_open half_open>open open>half_open half_open>closed ");
}

TEST_CASE("http-api 4.13.5: late outcomes neither prolong nor shorten the time it is open") {
  Bench bench;
  bench.record("---", 0);
  bench.record("-+-+", 59 * kSecond);
  bench.breaker.look(60 * kSecond);
  CHECK(bench.breaker.state() == BreakerState::half_open);
}

TEST_CASE("overload 5.7.2: a reset closes it with zeroed runs, later failures count as ever") {
  Bench bench;
  bench.record("--------");
  REQUIRE(bench.breaker.state() == BreakerState::open);
  bench.breaker.reset(kSecond);
  CHECK(bench.breaker.state() == BreakerState::closed);
  CHECK(bench.breaker.failures() == 0);
  bench.record("--");
  CHECK(bench.breaker.state() == BreakerState::closed);
  bench.record("-");
  CHECK(bench.breaker.state() == BreakerState::open);
}

TEST_CASE("other limits keep the run, and count from the next outcome on") {
  Bench bench;
  bench.record("--");
  bench.breaker.configure({.failures = 2, .successes = 2, .open_for = kSecond});
  CHECK(bench.breaker.state() == BreakerState::closed);
  bench.record("-");
  CHECK(bench.breaker.state() == BreakerState::open);
}

TEST_CASE("an open breaker that is switched off closes and stays closed") {
  Bench bench;
  bench.record("---");
  REQUIRE(bench.breaker.state() == BreakerState::open);
  bench.breaker.configure({.failures = BreakerLimits::kNever, .successes = 2, .open_for = kSecond});
  CHECK(bench.breaker.state() == BreakerState::closed);
  bench.record("----");
  CHECK(bench.breaker.state() == BreakerState::closed);
  CHECK(bench.moves == "closed>open open>closed ");
}
