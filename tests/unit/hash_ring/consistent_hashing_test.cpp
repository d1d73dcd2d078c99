// Sections 6.8 and 10.A of the policies page. Workers are numbered from 1 there, from 0 here.
#include <doctest/doctest.h>

#include <cmath>

#include "ring_support.hpp"

using namespace smg;
using namespace smg::test;

namespace {

constexpr const char* kLibrary = SMG_CONSISTENT_HASHING;

struct Bench : RingBench {
  explicit Bench(RingHost& the_host, std::uint32_t workers = 3)
      : RingBench(kLibrary, the_host, workers) {}
  double count(const std::string& branch) const {
    return host.metric("smg_consistent_hashing_policy_branch_total{" + branch + "}");
  }
};

}  // namespace

TEST_CASE("consistent_hashing describes itself") {
  RingHost host;
  const Bench bench(host);
  const smg_plugin& plugin = bench.policy.plugin();
  CHECK(plugin.kind == SMG_KIND_POLICY);
  CHECK(string_of(plugin.name) == "consistent_hashing");
  CHECK((plugin.flags & SMG_PLUGIN_UNLOADABLE) != 0);
  CHECK(bench.policy.api().needs == (SMG_NEEDS_HEADERS | SMG_KEEPS_ROUTING_KEYS));
  REQUIRE(plugin.option_count == 1);
  const smg_option* factor = option_of(plugin, "bounded_load_factor");
  REQUIRE(factor != nullptr);
  CHECK(factor->type == SMG_OPTION_FLOAT);
  CHECK(string_of(factor->default_value) == "0.0");
  CHECK(string_of(factor->flag) == "consistent-hashing-bounded-load-factor");
  CHECK(factor->minimum == 0);
}

TEST_CASE("policies A1-A5: owners, whom vetoes hand them to, and a worker that comes") {
  struct Example {
    const char* key;
    std::uint32_t owner, next, last, with_fourth, by_modulus;
  };
  RingHost host;
  for (const Example& a : {Example{"user-123", 1, 2, 0, 3, 1}, Example{"user-veto", 1, 0, 2, 1, 1},
                           Example{"test", 2, 1, 0, 3, 1}, Example{"alice", 2, 1, 0, 2, 0},
                           Example{"bob", 0, 2, 1, 3, 0}}) {
    CAPTURE(a.key);
    Bench bench(host);
    CHECK(bench.by_key(a.key) == a.owner);
    bench.fleet.set_state(a.owner, SMG_STATUS_READY | SMG_STATE_OVERLOADED);
    CHECK(bench.by_key(a.key) == a.next);
    bench.fleet.set_state(a.next, SMG_STATUS_READY | SMG_STATE_BREAKER_OPEN);
    CHECK(bench.by_key(a.key) == a.last);
    bench.fleet.set_state(a.next, SMG_STATUS_READY | SMG_STATE_BREAKER_HALF_OPEN);
    CHECK(bench.by_key(a.key) == a.next);
    bench.fleet.up(a.owner);
    CHECK(bench.by_key(a.key) == a.owner);

    auto untold = bench.fleet.pool();
    bench.pool.swap(untold);
    CHECK(bench.by_key(a.key) == a.by_modulus);
    bench.pool.swap(untold);

    bench.fleet.add("http://w4:8000");
    bench.become(bench.fleet.pool());
    CHECK(bench.by_key(a.key) == a.with_fourth);
  }
}

TEST_CASE("policies A6: removing a worker gives the same owner as vetoing it") {
  RingHost host;
  Bench vetoed(host, 5);
  Bench removed(host, 5);
  vetoed.fleet.down(1);
  removed.become(removed.fleet.pool({0, 2, 3, 4}));
  for (int i = 0; i < 2000; ++i) {
    const std::string key = "key-" + std::to_string(i);
    const auto& pool = *removed.pool->raw();
    CHECK(vetoed.fleet.url(vetoed.by_key(key).value()) ==
          string_of(pool.workers[removed.by_key(key).value()]->url));
  }
}

TEST_CASE("a veto moves the owner's keys only, and they return") {
  RingHost host;
  Bench bench(host, 8);
  std::vector<std::uint32_t> owners;
  const auto key = [](int i) { return "key-" + std::to_string(i); };
  for (int i = 0; i < 2000; ++i) owners.push_back(bench.by_key(key(i)).value());
  for (std::uint32_t vetoed = 0; vetoed < 8; ++vetoed) {
    bench.fleet.set_state(vetoed, SMG_STATUS_READY | SMG_STATE_WEDGED);
    for (int i = 0; i < 2000; ++i) {
      const std::uint32_t owner = owners[static_cast<std::size_t>(i)];
      const auto choice = bench.by_key(key(i));
      CHECK(choice != vetoed);
      if (owner != vetoed) CHECK(choice == owner);
    }
    bench.fleet.up(vetoed);
  }
  for (int i = 0; i < 2000; ++i) CHECK(bench.by_key(key(i)) == owners[static_cast<std::size_t>(i)]);
}

TEST_CASE("policies A7: the target worker goes before the routing key") {
  RingHost host;
  Bench bench(host);
  const auto with = [&](const std::string& value) {
    return bench.by_headers({{"X-SMG-Target-Worker", value}, {"X-SMG-Routing-Key", "user-veto"}});
  };
  CHECK(with("0") == 0);
  CHECK(with("2") == 2);
  CHECK(with("+2") == 2);
  CHECK(bench.count("target_worker_hit") == 3);
  for (const char* value : {"5", "3", "x", "1x", "-1", "+", "++1", " 1", "18446744073709551616"}) {
    CAPTURE(value);
    CHECK_FALSE(with(value));
  }
  CHECK(bench.count("target_worker_miss") == 9);
  CHECK(bench.count("routing_key_hit") == 0);
  for (const char* value : {"", "\xc3\xa9", "1\x7f"}) CHECK(with(value) == 1);
  CHECK(bench.count("routing_key_hit") == 3);
}

TEST_CASE("the target worker counts among those that may be chosen") {
  RingHost host;
  Bench bench(host, 4);
  bench.fleet.down(0);
  bench.fleet.set_state(2, SMG_STATUS_READY | SMG_STATE_UNREACHABLE);
  CHECK(bench.by_headers({{"x-smg-target-worker", "0"}}) == 1);
  CHECK(bench.by_headers({{"x-smg-target-worker", "1"}}) == 3);
  CHECK_FALSE(bench.by_headers({{"x-smg-target-worker", "2"}}));
}

TEST_CASE("policies A8: a routing key of 129 bytes is none") {
  RingHost host;
  Bench bench(host);
  const RingBench::Headers header{{"x-smg-routing-key", std::string(129, 'k')}};
  CHECK(bench.by_headers(header, 0) == 0);
  CHECK(bench.by_headers(header, ~std::uint64_t{0}) == 2);
  CHECK(bench.count("random_fallback") == 2);
  auto both = header;
  both.emplace_back("authorization", "Bearer a");
  for (std::uint64_t random = 0; random < 9; ++random) {
    CHECK(bench.by_headers(both, random << 60) == bench.by_key("Bearer a"));
  }
  CHECK(bench.count("routing_key_hit") == 18);
  const std::string longest(128, 'k');
  CHECK(bench.by_headers({{"x-smg-routing-key", longest}}, 0) == bench.by_key(longest));
  CHECK(bench.by_headers({{"x-smg-routing-key", "\xff"}, {"authorization", "Bearer a"}}) ==
        bench.by_key("Bearer a"));
  CHECK(bench.count("random_fallback") == 2);
}

TEST_CASE("policies A9: an implicit header that is empty hides those behind it") {
  RingHost host;
  Bench bench(host);
  bench.by_headers({{"authorization", ""}, {"cookie", "c=1"}});
  bench.by_headers({{"cookie", "c=1"}, {"AUTHORIZATION", "caf\xc3\xa9"}});
  bench.by_headers({{"authorization", ""}, {"authorization", "Bearer a"}});
  CHECK(bench.count("random_fallback") == 3);
  CHECK(bench.by_headers({{"cookie", "c=1"}}) == bench.by_key("c=1"));
  CHECK(bench.by_headers({{"cookie", "c=1"}, {"X-Forwarded-For", "10.0.0.1"}}) ==
        bench.by_key("10.0.0.1"));
  CHECK(bench.by_headers({{"X-Forwarded-For", "10.0.0.1"}, {"Authorization", "Bearer a"}}) ==
        bench.by_key("Bearer a"));
  CHECK(bench.count("random_fallback") == 3);
}

TEST_CASE("the host's key goes before the header, and that before implicit keys") {
  RingHost host;
  Bench bench(host, 50);
  const RingBench::Headers headers{{"authorization", "Bearer a"}, {"x-smg-routing-key", "alice"}};
  CHECK(bench.by_headers(headers) == bench.by_key("alice"));
  CHECK(bench.by_key("alice") != bench.by_key("Bearer a"));
  smg_policy_request request{};
  const std::string rid = "bob";
  const std::string name = "x-smg-routing-key";
  const std::string value = "alice";
  const smg_header header{view_of(name), view_of(value)};
  request.routing_key = view_of(rid);
  request.headers = &header;
  request.header_count = 1;
  CHECK(bench.policy.select(bench.pool->raw(), request) == bench.by_key("bob"));
  CHECK(bench.by_key("alice") != bench.by_key("bob"));
}

TEST_CASE("with nothing to go by, every eligible worker is equally likely") {
  RingHost host;
  Bench bench(host, 5);
  bench.fleet.down(3);
  std::vector<int> picks(5);
  Draw draw(1);
  for (int i = 0; i < 40'000; ++i) ++picks[bench.by_headers({}, draw.bits()).value()];
  CHECK(picks[3] == 0);
  for (const std::uint32_t worker : {0u, 1u, 2u, 4u}) {
    CHECK(picks[worker] > 9'600);
    CHECK(picks[worker] < 10'400);
  }
}

TEST_CASE("nobody eligible: declined, whatever the request says") {
  RingHost host;
  Bench bench(host, 2);
  bench.fleet.down(0);
  bench.fleet.set_state(1, SMG_STATUS_DRAINING);
  CHECK_FALSE(bench.by_key("alice"));
  CHECK_FALSE(bench.by_headers({{"x-smg-target-worker", "0"}}));
  CHECK_FALSE(bench.by_headers({}));
  CHECK(bench.count("no_healthy_workers") == 3);
  CHECK(bench.count("target_worker_miss") == 0);
  bench.fleet.set_state(1, SMG_STATUS_READY | SMG_STATE_BREAKER_HALF_OPEN);
  CHECK(bench.by_key("alice") == 1);
}

TEST_CASE("without a ring, keys are spread over the eligible workers in their order") {
  RingHost host;
  Bench bench(host, 5);
  const auto untold = bench.fleet.pool();
  bench.fleet.down(1);
  const std::vector<std::uint32_t> eligible{0, 2, 3, 4};
  for (int i = 0; i < 100; ++i) {
    const std::string key = "key-" + std::to_string(i);
    smg_policy_request request{};
    request.routing_key = view_of(key);
    CHECK(bench.policy.select(untold->raw(), request) == eligible[hash64(key) % 4]);
  }
  CHECK(bench.count("routing_key_hit") == 100);
}

TEST_CASE("a pool that changed keeps keys with their workers, while requests still see the old") {
  RingHost host;
  Bench bench(host, 6);
  bench.become(bench.fleet.pool({0, 1, 2, 3}));
  std::unique_ptr<FakePool> before = std::move(bench.pool);
  auto after = bench.fleet.pool({5, 3, 1, 0, 4});
  std::vector<std::uint32_t> owners;
  for (int i = 0; i < 500; ++i) {
    const std::string key = "key-" + std::to_string(i);
    smg_policy_request request{};
    request.routing_key = view_of(key);
    owners.push_back(bench.policy.select(before->raw(), request).value());
  }
  bench.policy.pool_changed(before->raw(), after->raw());
  int stayed = 0;
  for (int i = 0; i < 500; ++i) {
    const std::string key = "key-" + std::to_string(i);
    const std::uint32_t owner = owners[static_cast<std::size_t>(i)];
    smg_policy_request request{};
    request.routing_key = view_of(key);
    CHECK(bench.policy.select(before->raw(), request) == owner);
    const auto* now = after->raw()->workers[bench.policy.select(after->raw(), request).value()];
    const bool newcomer = now->slot >= 4;
    if (owner != 2) CHECK((newcomer || now->slot == owner));
    if (now->slot == owner) ++stayed;
  }
  CHECK(stayed > 100);
  bench.pool = std::move(before);
}

TEST_CASE("a hot key stays where it is, however busy: strict is the default") {
  RingHost host;
  Bench bench(host);
  bench.set_loads({0, 1'000'000, 0});
  CHECK(bench.by_key("user-123") == 1);
  CHECK(bench.count("routing_key_hit") == 1);
}

TEST_CASE("with a load bound, keys of a busy worker pass on clockwise") {
  RingHost host;
  host.floats["bounded_load_factor"] = 1.25;
  Bench bench(host);
  // `user-123` walks 1, 2, 0. Capacity is ceil(1.25 * (total + 1) / 3).
  bench.set_loads({0, 0, 0});
  CHECK(bench.by_key("user-123") == 1);
  bench.set_loads({4, 4, 4});  // 6: room for one more, and another
  CHECK(bench.by_key("user-123") == 1);
  bench.set_loads({4, 5, 4});  // ceil(5.83) = 6
  CHECK(bench.by_key("user-123") == 1);
  CHECK(bench.count("routing_key_spill") == 0);
  bench.set_loads({4, 6, 4});  // ceil(6.25) = 7
  CHECK(bench.by_key("user-123") == 1);
  bench.set_loads({3, 6, 4});  // ceil(5.83) = 6
  CHECK(bench.by_key("user-123") == 2);
  CHECK(bench.count("routing_key_spill") == 1);
  bench.set_loads({0, 8, 8});  // ceil(7.08) = 8
  CHECK(bench.by_key("user-123") == 0);
  CHECK(bench.count("routing_key_spill") == 2);
  CHECK(bench.count("routing_key_hit") == 4);
  bench.fleet.down(0);  // ceil(1.25 * 17 / 2) = 11
  CHECK(bench.by_key("user-123") == 1);
}

TEST_CASE("with a load bound, no worker gets more than its share") {
  RingHost host;
  for (const double factor : {1.0, 1.25, 2.0}) {
    host.floats["bounded_load_factor"] = factor;
    Bench bench(host, 10);
    Draw draw(7);
    std::vector<std::uint32_t> loads(10);
    std::uint32_t total = 0;
    for (int i = 0; i < 3000; ++i) {
      const std::string key = "key-" + std::to_string(draw.below(5));  // five hot keys
      const std::uint32_t choice = bench.by_key(key).value();
      ++loads[choice];
      ++total;
      bench.fleet.set_in_flight(choice, loads[choice]);
      CHECK(loads[choice] <= std::ceil(factor * total / 10.0));
    }
  }
}

TEST_CASE("a load bound below 1 is refused") {
  RingHost host;
  host.floats["bounded_load_factor"] = 0.5;
  CHECK_THROWS_WITH(LoadedPolicy(kLibrary, host),
                    "bounded_load_factor = 0.500000: must be 0, or 1 or more; below 1 no worker "
                    "has room");
}
