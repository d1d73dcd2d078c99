// Section 6.10 of the policies page, its worked examples I and its traps.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "buckets.hpp"
#include "defaults.hpp"
#include "fake_policy.hpp"
#include "fake_pool.hpp"

using bucket::Bounds;
using bucket::Buckets;
using smg::test::FakeFleet;
using smg::test::FakeHost;
using smg::test::FakePool;
using smg::test::LoadedPolicy;

namespace {

using Sizes = std::vector<std::uint64_t>;
using AllBounds = std::vector<Bounds>;
constexpr std::uint64_t kMost = UINT64_MAX;
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr bucket::Tunables kNeverUneven{.balance_abs = kMost};

struct Bench {
  explicit Bench(std::uint32_t workers, bucket::Tunables tunables = {})
      : fleet(workers), buckets(tunables) {
    use(fleet.pool());
  }
  void use(std::unique_ptr<FakePool> next) {
    pool = std::move(next);
    buckets.set_members(*pool->raw());
  }
  std::optional<std::uint32_t> choose(std::uint64_t size, std::uint64_t random = 1) {
    return choose_from(*pool, size, random);
  }
  std::optional<std::uint32_t> choose_from(const FakePool& from, std::uint64_t size,
                                           std::uint64_t random = 1) {
    const smg::Pool seen(*from.raw());
    std::vector<std::uint32_t> eligible;
    for (std::uint32_t i = 0; i < seen.size(); ++i) {
      if (seen.eligible(i)) eligible.push_back(i);
    }
    return buckets.choose(seen, eligible, size, now, random);
  }
  // Makes `recent` what was routed to each worker, whatever the bounds.
  void route(const Sizes& recent) {
    for (std::uint32_t worker = 0; worker < recent.size(); ++worker) {
      if (recent[worker] == 0) continue;
      const smg::Pool seen(*pool->raw());
      const std::uint32_t only[] = {worker};
      for (std::uint32_t i = 0; i < seen.size(); ++i) {
        if (i != worker) fleet.down(i);
      }
      REQUIRE(buckets.choose(seen, only, recent[worker], now, 1) == worker);
      for (std::uint32_t i = 0; i < seen.size(); ++i) fleet.up(i);
    }
    REQUIRE(buckets.recent() == recent);
  }

  FakeFleet fleet;
  Buckets buckets;
  std::unique_ptr<FakePool> pool;
  std::uint64_t now = 1;
};

}  // namespace

TEST_CASE("bucket I1: equal parts of 4096, the last one open") {
  CHECK(bucket::initial_bounds(3) == AllBounds{{0, 1364}, {1365, 2729}, {2730, kMost}});
  CHECK(bucket::initial_bounds(4) ==
        AllBounds{{0, 1023}, {1024, 2047}, {2048, 3071}, {3072, kMost}});
  CHECK(bucket::initial_bounds(2) == AllBounds{{0, 2047}, {2048, kMost}});
  CHECK(bucket::initial_bounds(1) == AllBounds{{0, kMost}});
  CHECK(bucket::initial_bounds(0).empty());
  for (const auto& [size, worker] : {std::pair{1364u, 0u}, {1365u, 1u}, {5000u, 2u}, {0u, 0u}}) {
    Bench bench(3);
    CHECK(bench.choose(size) == worker);
  }
}

TEST_CASE("bucket: more workers than sizes in the base leave no worker without a range") {
  const AllBounds bounds = bucket::initial_bounds(5000);
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    REQUIRE(bounds[i].low <= bounds[i].high);
    REQUIRE(bounds[i].high + 1 == bounds[i + 1].low);
  }
  CHECK(bounds.back().high == kMost);
}

TEST_CASE("bucket I2, trap a: a second start gives the same bounds as the first") {
  Bench bench(3);
  bench.use(bench.fleet.pool());
  CHECK(bench.buckets.bounds() == AllBounds{{0, 1364}, {1365, 2729}, {2730, kMost}});
  bench.fleet.add("http://w4:8000");
  bench.use(bench.fleet.pool());
  CHECK(bench.buckets.bounds() == bucket::initial_bounds(4));
}

TEST_CASE("bucket I3: uneven needs both thresholds, then the least used worker takes it") {
  for (const auto& [recent, worker] : {std::pair{Sizes{500, 100, 300}, 1u},
                                       {Sizes{160, 100, 100}, 2u},
                                       {Sizes{300, 230, 230}, 2u}}) {
    Bench bench(3);
    bench.route(recent);
    CHECK(bench.choose(5000) == worker);
  }
  // At a threshold is not above it.
  Bench at_abs(2, {.balance_abs = 60});
  at_abs.route({160, 100});
  CHECK(at_abs.choose(0) == 0);
  Bench at_rel(2, {.balance_abs = 10});
  at_rel.route({150, 100});
  CHECK(at_rel.choose(0) == 0);
}

TEST_CASE("bucket I4: bounds that give each worker an equal share") {
  CHECK(bucket::fitted_bounds(Sizes{100, 200, 300, 400, 500, 1500}, 3, 1000) ==
        AllBounds{{0, 400}, {401, 1500}, {1501, kMost}});
  Bench bench(3, kNeverUneven);
  for (const std::uint64_t size : {1500u, 100u, 300u, 200u, 500u, 400u}) bench.choose(size);
  bench.buckets.adjust(bench.now);
  CHECK(bench.buckets.bounds() == AllBounds{{0, 400}, {401, 1500}, {1501, kMost}});
}

TEST_CASE("bucket I5: a share that changed by less than a factor of two moves nothing") {
  // The share is 1000 in the end; what it was before decides.
  for (const auto& [before, moves] :
       {std::pair{900u, false}, {500u, false}, {400u, true}, {2000u, false}, {2001u, true}}) {
    CAPTURE(before);
    Bench bench(3, kNeverUneven);
    for (int i = 0; i < 3; ++i) bench.choose(before);
    bench.buckets.adjust(bench.now);
    const AllBounds first = bench.buckets.bounds();
    CHECK(first == bucket::fitted_bounds(Sizes{before, before, before}, 3, before));
    bench.now += 5 * kSecond + 1;  // all of that is forgotten
    for (const std::uint64_t size : {100u, 200u, 300u, 400u, 500u, 1500u}) bench.choose(size);
    bench.buckets.adjust(bench.now);
    const AllBounds moved{{0, 400}, {401, 1500}, {1501, kMost}};
    CHECK(bench.buckets.bounds() == (moves ? moved : first));
  }
}

TEST_CASE("bucket I6: sizes that are all alike, and one that is larger than a share") {
  CHECK(bucket::fitted_bounds(Sizes{10, 10, 10, 10}, 2, 20) == AllBounds{{0, 10}, {11, kMost}});
  CHECK(bucket::fitted_bounds(Sizes{10, 10, 3000}, 3, 1006) ==
        AllBounds{{0, 3000}, {3001, 4007}, {4008, kMost}});
  CHECK(bucket::fitted_bounds(Sizes{kMost, kMost}, 3, kMost / 2).back().high == kMost);
}

TEST_CASE("bucket trap b: an owner that is not eligible is passed over for the least used one") {
  Bench bench(3);
  bench.fleet.down(2);
  std::set<std::uint32_t> seen;
  for (std::uint64_t i = 0; i < 32; ++i) {
    Bench fresh(3);
    fresh.fleet.down(2);
    seen.insert(fresh.choose(5000, i * 0x9e3779b97f4a7c15u).value());
  }
  CHECK(seen == std::set<std::uint32_t>{0, 1});  // equal ones are equally likely
  bench.route({0, 40, 0});
  bench.fleet.down(2);
  CHECK(bench.choose(5000) == 0);
  // Of those who were given least, only one that is eligible.
  Bench uneven(3);
  uneven.route({500, 100, 300});
  uneven.fleet.down(1);
  CHECK(uneven.choose(5000) == 2);
  for (const std::uint32_t worker : {0u, 2u}) uneven.fleet.down(worker);
  CHECK_FALSE(uneven.choose(5000));
}

TEST_CASE("bucket: what a worker that is out was given does not count for balance") {
  Bench bench(3);
  bench.route({300, 0, 300});
  bench.fleet.down(1);
  CHECK(bench.choose(100) == 0);
}

TEST_CASE("bucket trap c: who left owns nothing") {
  Bench bench(3);
  bench.use(bench.fleet.pool({0, 2}));
  CHECK(bench.buckets.bounds() == bucket::initial_bounds(2));
  CHECK(bench.choose(1500) == 0);
  CHECK(bench.choose(3000) == 1);
}

TEST_CASE("bucket trap d: who left takes what was routed to it along, who stays keeps it") {
  Bench bench(3);
  bench.route({500, 100, 300});
  bench.use(bench.fleet.pool({2, 1}));
  CHECK(bench.buckets.recent() == Sizes{300, 100});
  bench.now += 5 * kSecond;
  bench.choose(7);  // nothing is older than the window yet; the least used one
  CHECK(bench.buckets.recent() == Sizes{300, 107});
  bench.now += 1;
  bench.choose(7);
  CHECK(bench.buckets.recent() == Sizes{7, 7});
}

TEST_CASE("bucket: after a change of members the bounds fit what is still remembered") {
  Bench bench(2, kNeverUneven);
  CHECK(bench.choose(3000) == 1);
  CHECK(bench.choose(1000) == 0);
  bench.fleet.add("http://w3:8000");
  bench.use(bench.fleet.pool({2, 0}));
  bench.buckets.adjust(bench.now);  // a share of 500
  CHECK(bench.buckets.bounds() == AllBounds{{0, 1000}, {1001, kMost}});
}

TEST_CASE("bucket: what is older than the window is forgotten before it decides") {
  Bench bench(3);
  bench.route({500, 100, 300});
  bench.now += 5 * kSecond + 1;
  CHECK(bench.choose(100) == 0);
  CHECK(bench.buckets.recent() == Sizes{100, 0, 0});
}

TEST_CASE("bucket: without sizes, or with none above zero, the bounds stay") {
  Bench bench(3);
  bench.buckets.adjust(bench.now);
  CHECK(bench.buckets.bounds() == bucket::initial_bounds(3));
  for (int i = 0; i < 10; ++i) bench.choose(0);
  bench.buckets.adjust(bench.now);
  CHECK(bench.buckets.bounds() == bucket::initial_bounds(3));
}

TEST_CASE("bucket: at most so many requests are remembered") {
  Bench bench(1, {.window = UINT64_MAX});
  for (std::size_t i = 0; i < Buckets::kMaxRecords + 100; ++i) bench.choose(1);
  CHECK(bench.buckets.recent() == Sizes{Buckets::kMaxRecords});
}

TEST_CASE("bucket: a request with an older pool goes to any eligible worker") {
  Bench bench(3);
  const auto older = bench.fleet.pool({2, 1});
  std::set<std::uint32_t> seen;
  for (std::uint64_t i = 0; i < 32; ++i) {
    seen.insert(bench.choose_from(*older, 0, i * 0x9e3779b97f4a7c15u).value());
  }
  CHECK(seen == std::set<std::uint32_t>{0, 1});
  CHECK(bench.buckets.recent() == Sizes{0, 0, 0});
}

// ---- the library as it ships

namespace {

struct Shipped {
  explicit Shipped(std::uint32_t workers, std::uint32_t type = SMG_WORKER_PREFILL)
      : policy(SMG_BUCKET, prepare()), fleet(workers) {
    for (std::uint32_t i = 0; i < workers; ++i) fleet.worker(i).type = type;
    pool = fleet.pool();
    policy.pool_changed(nullptr, pool->raw());
  }
  std::uint32_t select(std::size_t tokens, const std::string& text = {}, std::uint64_t random = 0) {
    const std::vector<std::uint32_t> ids(tokens);
    smg_policy_request request{};
    request.now = host.time;
    request.random = random;
    request.tokens = ids.data();
    request.token_count = tokens;
    request.text = smg::test::view_of(text);
    return policy.select(pool->raw(), request).value();
  }

  FakeHost host;
  LoadedPolicy policy;
  FakeFleet fleet;
  std::unique_ptr<FakePool> pool;

 private:
  FakeHost& prepare() {
    smg::test::set_defaults(host, SMG_BUCKET);
    return host;
  }
};

}  // namespace

TEST_CASE("bucket describes itself") {
  Shipped bench(1);
  const auto text = [](smg_view view) { return std::string(view.data, view.size); };
  const auto* abs = smg::test::find_option(bench.policy.plugin(), "balance_abs_threshold");
  CHECK(text(abs->default_value) == "64");
  CHECK(text(abs->label_default) == "32");
  CHECK(text(abs->flag) == "balance-abs-threshold,spill-abs-threshold");
  const auto* rel = smg::test::find_option(bench.policy.plugin(), "balance_rel_threshold");
  CHECK(text(rel->default_value) == "1.5");
  CHECK(text(rel->label_default) == "1.0001");
  CHECK(rel->minimum == 1);
  CHECK(text(rel->flag) == "balance-rel-threshold,spill-rel-threshold");
  const auto* every = smg::test::find_option(bench.policy.plugin(), "bucket_adjust_interval_secs");
  CHECK(text(every->default_value) == "5");
  CHECK(every->minimum == 1);
  CHECK(every->maximum == 4294967295.0);
  CHECK(every->flag.size == 0);
}

TEST_CASE("bucket: the size is the tokens, else the characters of the text") {
  CHECK(Shipped(3).select(1364) == 0);
  CHECK(Shipped(3).select(1365) == 1);
  CHECK(Shipped(3).select(5000, std::string(10, 'a')) == 2);
  CHECK(Shipped(3).select(0, std::string(1365, 'a')) == 1);
  std::string umlauts;
  for (int i = 0; i < 1364; ++i) umlauts += "\xc3\xa4";
  CHECK(Shipped(3).select(0, umlauts) == 0);
  CHECK(Shipped(3).select(0) == 0);
}

TEST_CASE("bucket: the bounds move every five seconds") {
  Shipped bench(2);
  CHECK(bench.select(10) == 0);
  CHECK(bench.select(10) == 0);
  CHECK(bench.select(10) == 0);
  CHECK(bench.select(10) == 0);
  bench.host.advance(5 * kSecond - 2);
  CHECK(bench.select(11) == 0);
  bench.host.advance(2);  // share 25: [0, 10], [11, max]
  CHECK(bench.select(11) == 1);
  CHECK(bench.select(10) == 0);
  CHECK(bench.host.timer_count() == 1);
}

TEST_CASE("bucket: other workers than those for prefill are chosen at random, with one warning") {
  Shipped bench(3, SMG_WORKER_REGULAR);
  std::vector<int> picks(3);
  std::uint64_t random = 1;
  bench.fleet.down(1);
  for (int i = 0; i < 3000; ++i) {
    ++picks[bench.select(10, "", smg::test::next_random(random))];
  }
  CHECK(picks[0] > 1350);
  CHECK(picks[1] == 0);
  CHECK(picks[2] > 1350);
  CHECK(bench.host.log_lines().size() == 1);
  const auto next = bench.fleet.pool();
  bench.policy.pool_changed(bench.pool->raw(), next->raw());
  CHECK(bench.host.log_lines().size() == 1);
}

TEST_CASE("bucket: each pool has bounds of its own") {
  Shipped bench(4);
  const auto other = bench.fleet.pool({0, 1}, "other");
  bench.policy.pool_changed(nullptr, other->raw());
  CHECK(bench.select(1500) == 1);
  const std::vector<std::uint32_t> ids(1500);
  smg_policy_request request{};
  request.now = bench.host.time;
  request.tokens = ids.data();
  request.token_count = ids.size();
  CHECK(bench.policy.select(other->raw(), request) == 0);
}

TEST_CASE("bucket: the timer is gone with the policy") {
  FakeHost host;
  smg::test::set_defaults(host, SMG_BUCKET);
  {
    LoadedPolicy policy(SMG_BUCKET, host);
    CHECK(host.timer_count() == 1);
  }
  CHECK(host.timer_count() == 0);
}
