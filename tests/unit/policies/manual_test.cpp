// Section 6.9 of the policies page, and its worked examples H.
#include <doctest/doctest.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "defaults.hpp"
#include "fake_policy.hpp"
#include "fake_pool.hpp"

using smg::test::FakeFleet;
using smg::test::FakeHost;
using smg::test::FakePool;
using smg::test::find_option;
using smg::test::LoadedPolicy;
using smg::test::next_random;
using smg::test::OnLoop;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

struct Bench {
  explicit Bench(std::uint32_t workers, const std::string& mode = "min_load",
                 const std::function<void(FakeHost&)>& options = {})
      : policy(SMG_MANUAL, prepare(mode, options)), fleet(workers) {
    use(fleet.pool());
  }

  // From now on this is the pool.
  void use(std::unique_ptr<FakePool> next) {
    policy.pool_changed(pool == nullptr ? nullptr : pool->raw(), next->raw());
    pool = std::move(next);
  }
  std::optional<std::uint32_t> select(const std::string& key, std::uint32_t leg = SMG_LEG_SINGLE) {
    return select_from(*pool, key, leg);
  }
  std::optional<std::uint32_t> select_from(const FakePool& from, const std::string& key,
                                           std::uint32_t leg = SMG_LEG_SINGLE) {
    smg_policy_request request{};
    request.now = host.time;
    request.random = next_random(random);
    request.leg = leg;
    request.routing_key = smg::test::view_of(key);
    return policy.select(from.raw(), request);
  }
  // The next assignment goes there.
  void prefer(std::uint32_t worker) {
    for (std::uint32_t i = 0; i < fleet.size(); ++i) fleet.set_in_flight(i, i == worker ? 0 : 9);
  }
  double count(const std::string& branch) const {
    return host.metric("smg_manual_policy_branch_total{" + branch + "}");
  }
  double entries() const { return host.metric("smg_manual_policy_cache_entries"); }

  FakeHost host{9};
  LoadedPolicy policy;
  FakeFleet fleet;
  std::unique_ptr<FakePool> pool;
  std::uint64_t random = 1;

 private:
  FakeHost& prepare(const std::string& mode, const std::function<void(FakeHost&)>& options) {
    host.strings["assignment_mode"] = mode;
    if (options) options(host);
    smg::test::set_defaults(host, SMG_MANUAL);
    return host;
  }
};

}  // namespace

TEST_CASE("manual describes itself") {
  Bench bench(1);
  const smg_plugin& plugin = bench.policy.plugin();
  CHECK(bench.policy.api().needs == SMG_KEEPS_ROUTING_KEYS);
  const auto text = [](smg_view view) { return std::string(view.data, view.size); };
  const smg_option* interval = find_option(plugin, "eviction_interval_secs");
  CHECK(text(interval->default_value) == "120");
  CHECK(text(interval->label_default) == "60");
  CHECK(text(interval->flag) == "eviction-interval");
  const smg_option* idle = find_option(plugin, "max_idle_secs");
  CHECK(text(idle->default_value) == "14400");
  CHECK(text(idle->flag) == "max-idle-secs,sticky-key-idle-secs");
  const smg_option* mode = find_option(plugin, "assignment_mode");
  CHECK(text(mode->default_value) == "\"random\"");
  CHECK(mode->choice_count == 4);
  CHECK(text(mode->flag) == "assignment-mode");
}

TEST_CASE("manual H1: a key keeps up to two workers, and the first one wins while it is well") {
  Bench bench(3);
  bench.prefer(0);
  CHECK(bench.select("k") == 0);
  CHECK(bench.count("vacant") == 1);
  bench.fleet.down(0);
  bench.prefer(1);
  CHECK(bench.select("k") == 1);
  CHECK(bench.count("occupied_miss") == 1);
  bench.prefer(2);
  CHECK(bench.select("k") == 1);
  CHECK(bench.count("occupied_hit") == 1);
  bench.fleet.up(0);
  CHECK(bench.select("k") == 0);
  CHECK(bench.count("occupied_hit") == 2);
  bench.fleet.down(0);
  bench.fleet.down(1);
  CHECK(bench.select("k") == 2);
  CHECK(bench.count("occupied_miss") == 2);
  bench.fleet.up(0);
  bench.fleet.up(1);
  CHECK(bench.select("k") == 1);  // [w2, w3]: w1 is forgotten
  CHECK(bench.entries() == 1);
}

TEST_CASE("manual H2: a new worker moves no key") {
  Bench bench(3, "random");
  std::vector<std::uint32_t> before;
  for (int i = 0; i < 200; ++i) before.push_back(bench.select("k" + std::to_string(i)).value());
  CHECK(std::set<std::uint32_t>(before.begin(), before.end()).size() == 3);
  bench.fleet.add("http://w4:8000");
  bench.use(bench.fleet.pool());
  for (std::size_t i = 0; i < before.size(); ++i) {
    CHECK(bench.select("k" + std::to_string(i)) == before[i]);
  }
  CHECK(bench.count("occupied_hit") == 200);
}

TEST_CASE("manual H3: the least loaded, the fewest keys, ties uniform") {
  for (const std::string mode : {"min_load", "delegate"}) {
    Bench bench(3, mode);
    bench.fleet.set_in_flight(0, 2);
    std::vector<int> picks(3);
    for (int i = 0; i < 3000; ++i) ++picks[bench.select("k" + std::to_string(i)).value()];
    CHECK(picks[0] == 0);
    CHECK(picks[1] > 1350);  // 1500 expected, 27 is one deviation
    CHECK(picks[2] > 1350);
  }
  Bench bench(3, "min_group");
  bench.fleet.live(0).routing_keys = 1;
  bench.fleet.live(1).routing_keys = 3;
  bench.fleet.live(2).routing_keys = 2;
  bench.fleet.set_in_flight(0, 50);
  CHECK(bench.select("k") == 0);
}

TEST_CASE("manual H4: legs of a request are pinned independently") {
  Bench bench(2);
  bench.prefer(0);
  CHECK(bench.select("k", SMG_LEG_PREFILL) == 0);
  bench.prefer(1);
  CHECK(bench.select("k", SMG_LEG_DECODE) == 1);
  CHECK(bench.select("k", SMG_LEG_PREFILL) == 0);
  CHECK(bench.entries() == 2);
}

TEST_CASE("manual H7: idle for exactly the limit goes at the next sweep") {
  Bench bench(2, "min_load", [](FakeHost& host) {
    host.ints["eviction_interval_secs"] = 10;
    host.ints["max_idle_secs"] = 20;
  });
  bench.prefer(0);
  bench.select("old");
  bench.host.advance(1);
  bench.select("young");
  bench.host.advance(20 * kSecond - 1);  // sweeps at 10 s and 20 s
  bench.select("");                      // the gauge is set with each decision
  CHECK(bench.entries() == 1);
  bench.prefer(1);
  CHECK(bench.select("young") == 0);
  CHECK(bench.select("old") == 1);
}

TEST_CASE("manual: without sweeps, or without a limit, no key is forgotten") {
  for (const char* off : {"eviction_interval_secs", "max_idle_secs"}) {
    Bench bench(2, "min_load", [&](FakeHost& host) { host.ints[off] = 0; });
    CHECK(bench.host.timer_count() == 0);
    bench.prefer(0);
    bench.select("k");
    bench.host.advance(1'000'000 * kSecond);
    bench.prefer(1);
    CHECK(bench.select("k") == 0);
  }
}

TEST_CASE("manual: many idle keys go in slices, each a timer of its own") {
  Bench bench(2, "random", [](FakeHost& host) {
    host.ints["eviction_interval_secs"] = 10;
    host.ints["max_idle_secs"] = 5;
  });
  for (int i = 0; i < 5000; ++i) bench.select("k" + std::to_string(i));
  CHECK(bench.entries() == 5000);
  bench.host.advance(10 * kSecond);
  CHECK(bench.entries() == 0);
  CHECK(bench.host.timer_count() == 1);
}

TEST_CASE("manual: the timer is gone with the policy") {
  FakeHost host;
  smg::test::set_defaults(host, SMG_MANUAL);
  {
    LoadedPolicy policy(SMG_MANUAL, host);
    CHECK(host.timer_count() == 1);
  }
  CHECK(host.timer_count() == 0);
}

TEST_CASE("manual: without a key each request is assigned and nothing is kept") {
  Bench bench(2);
  bench.prefer(1);
  CHECK(bench.select("") == 1);
  bench.prefer(0);
  CHECK(bench.select("") == 0);
  CHECK(bench.count("no_routing_id") == 2);
  CHECK(bench.entries() == 0);
}

TEST_CASE("manual: nobody eligible is no choice and leaves the key alone") {
  Bench bench(2);
  bench.prefer(0);
  bench.select("k");
  bench.fleet.down(0);
  bench.fleet.set_state(1, SMG_STATUS_READY | SMG_STATE_WEDGED);
  CHECK_FALSE(bench.select("k"));
  CHECK_FALSE(bench.select(""));
  CHECK(bench.count("no_healthy_workers") == 2);
  bench.fleet.up(0);
  bench.fleet.up(1);
  bench.prefer(1);
  CHECK(bench.select("k") == 0);
}

TEST_CASE("manual: a removed worker is never chosen, and has its keys again if it comes back") {
  Bench bench(3);
  bench.prefer(1);
  CHECK(bench.select("k") == 1);
  bench.use(bench.fleet.pool({0, 2}));  // what was index 1 is now another worker
  bench.prefer(0);
  CHECK(bench.select("k") == 0);
  CHECK(bench.count("occupied_miss") == 1);
  bench.use(bench.fleet.pool({2, 0}));
  CHECK(bench.select("k") == 1);  // the same worker at another place
  bench.use(bench.fleet.pool({0, 1, 2}));
  CHECK(bench.select("k") == 1);  // w2, the oldest pin
}

TEST_CASE("manual: a request that still holds an older pool finds its worker there") {
  Bench bench(3);
  bench.prefer(2);
  CHECK(bench.select("k") == 2);
  const auto older = bench.fleet.pool({2, 0});
  CHECK(bench.select_from(*older, "k") == 0);
  CHECK(bench.select("k") == 2);
}

TEST_CASE("manual: keys of two models do not meet") {
  Bench bench(2);
  const auto other = bench.fleet.pool({0, 1}, "another model");
  bench.policy.pool_changed(nullptr, other->raw());
  bench.prefer(0);
  CHECK(bench.select("k") == 0);
  bench.prefer(1);
  CHECK(bench.select_from(*other, "k") == 1);
  CHECK(bench.select("k") == 0);
  CHECK(bench.entries() == 2);
}

TEST_CASE("manual: concurrent first requests of one key agree") {
  constexpr int kKeys = 2000;
  Bench bench(16, "random");
  std::vector<std::vector<std::uint32_t>> seen(8);
  std::vector<std::thread> threads;
  for (std::uint32_t loop = 0; loop < 8; ++loop) {
    threads.emplace_back([&, loop] {
      const OnLoop on(loop);
      std::uint64_t random = loop;
      for (int i = 0; i < kKeys; ++i) {
        const std::string key = "k" + std::to_string(i);
        smg_policy_request request{};
        request.now = bench.host.time;
        request.random = next_random(random);
        request.routing_key = smg::test::view_of(key);
        seen[loop].push_back(bench.policy.select(bench.pool->raw(), request).value());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& each : seen) CHECK(each == seen.front());
  CHECK(bench.count("vacant") == kKeys);
  CHECK(bench.count("occupied_hit") == 7 * kKeys);
}
