// Sections 6.7 and 10.B of the policies page, with the owners of XXH3 positions. Workers are
// numbered from 1 there, from 0 here.
#include <doctest/doctest.h>

#include <numeric>

#include "load_limit.hpp"
#include "ring_support.hpp"

using namespace smg;
using namespace smg::test;

namespace {

constexpr const char* kLibrary = SMG_PREFIX_HASH;

struct Bench : RingBench {
  explicit Bench(RingHost& the_host, std::uint32_t workers = 3)
      : RingBench(kLibrary, the_host, workers) {}
  double count(const std::string& branch) const {
    return host.metric("smg_prefix_hash_policy_branch_total{" + branch + "}");
  }
};

std::vector<std::uint32_t> count_to(std::uint32_t last) {
  std::vector<std::uint32_t> tokens(last);
  std::iota(tokens.begin(), tokens.end(), 1u);
  return tokens;
}

}  // namespace

TEST_CASE("prefix_hash describes itself") {
  RingHost host;
  const Bench bench(host);
  const smg_plugin& plugin = bench.policy.plugin();
  CHECK(plugin.kind == SMG_KIND_POLICY);
  CHECK(string_of(plugin.name) == "prefix_hash");
  CHECK((plugin.flags & SMG_PLUGIN_UNLOADABLE) != 0);
  CHECK(bench.policy.api().needs == (SMG_NEEDS_TEXT | SMG_NEEDS_TOKENS));
  struct Expected {
    const char* name;
    std::uint32_t type;
    const char* initial;
    const char* flag;
  };
  CHECK(plugin.option_count == 4);
  for (const Expected& expected :
       {Expected{"prefix_token_count", SMG_OPTION_INT, "256", "prefix-token-count"},
        Expected{"load_factor", SMG_OPTION_FLOAT, "1.25", "prefix-hash-load-factor"},
        Expected{"balance_abs_threshold", SMG_OPTION_INT, "10",
                 "prefix-hash-balance-abs-threshold"},
        Expected{"cache_boundaries", SMG_OPTION_STRING, "\"\"", "cache-boundaries"}}) {
    CAPTURE(expected.name);
    const smg_option* option = option_of(plugin, expected.name);
    REQUIRE(option != nullptr);
    CHECK(option->type == expected.type);
    CHECK(string_of(option->default_value) == expected.initial);
    CHECK(string_of(option->flag) == expected.flag);
  }
  CHECK(option_of(plugin, "prefix_token_count")->minimum == 1);
  CHECK(option_of(plugin, "load_factor")->minimum == 1);
  CHECK(option_of(plugin, "balance_abs_threshold")->minimum == 0);
}

TEST_CASE("policies B1, B2, B8: prompts by their first tokens") {
  RingHost host;
  Bench bench(host);
  CHECK(bench.by_tokens(count_to(10)) == 2);
  CHECK(bench.by_tokens(count_to(5)) == 2);
  const auto by_seven = bench.by_tokens(std::vector<std::uint32_t>(300, 7));
  CHECK(by_seven == 2);
  CHECK(bench.by_tokens(std::vector<std::uint32_t>(256, 7)) == by_seven);
  CHECK(bench.count("ring_hit") == 4);
}

TEST_CASE("policies B3: text, and its next worker while the owner may not be chosen") {
  RingHost host;
  Bench bench(host);
  CHECK(bench.by_text("hello world") == 1);
  bench.fleet.set_state(1, SMG_STATUS_READY | SMG_STATE_BREAKER_OPEN);
  CHECK(bench.by_text("hello world") == 0);
  bench.fleet.set_state(0, SMG_STATUS_READY | SMG_STATE_OVERLOADED);
  CHECK(bench.by_text("hello world") == 2);
  bench.fleet.up(1);
  CHECK(bench.by_text("hello world") == 1);
  CHECK(bench.count("ring_hit") == 4);
}

TEST_CASE(
    "policies B4: a routing key hides the prompt, and stands elsewhere than in "
    "consistent_hashing") {
  RingHost host;
  Bench bench(host);
  CHECK(bench.by_key("user-123") == 0);
  const RingBench consistent(SMG_CONSISTENT_HASHING, host, 3);
  CHECK(consistent.by_key("user-123") == 1);
  const auto tokens = count_to(10);
  smg_policy_request request{};
  request.routing_key = smg_view{"user-123", 8};
  request.tokens = tokens.data();
  request.token_count = tokens.size();
  CHECK(bench.policy.select(bench.pool->raw(), request) == 0);
}

TEST_CASE("policies B5-B7: an owner over the limit hands on to the least loaded") {
  RingHost host;
  Bench bench(host);
  bench.set_loads({0, 0, 13});  // limit 14.667
  CHECK(bench.by_tokens(count_to(5)) == 2);
  CHECK(bench.count("ring_hit") == 1);
  bench.set_loads({0, 0, 17});  // limit 16
  CHECK(bench.by_tokens(count_to(5)) == 0);
  CHECK(bench.count("load_balance_walk") == 1);
  bench.set_loads({2, 2, 20});  // limit 18.333
  CHECK(bench.by_tokens(count_to(5)) == 0);
  bench.set_loads({3, 2, 20});  // limit 18.667
  CHECK(bench.by_tokens(count_to(5)) == 1);
  CHECK(bench.count("load_balance_walk") == 3);
}

TEST_CASE("policies B9, B10: the deepest boundary whose owner is within the limit") {
  RingHost host;
  host.strings["cache_boundaries"] = "4,8";
  Bench bench(host);
  CHECK(bench.by_tokens(count_to(12)) == 1);
  bench.set_loads({0, 40, 0});  // limit 23.667
  CHECK(bench.by_tokens(count_to(12)) == 2);
  CHECK(bench.count("ring_hit") == 2);
  bench.set_loads({0, 40, 40});  // limit 37: both owners are over it
  CHECK(bench.by_tokens(count_to(12)) == 0);
  CHECK(bench.count("load_balance_walk") == 1);
}

TEST_CASE("policies B11: nothing to tell a request by, so the least loaded") {
  RingHost host;
  Bench bench(host);
  bench.set_loads({3, 1, 1});
  CHECK(bench.by_tokens({}) == 1);
  bench.fleet.down(1);
  CHECK(bench.by_tokens({}) == 2);
  CHECK(bench.count("no_routing_key") == 2);
}

TEST_CASE("without a ring, the least loaded eligible worker") {
  RingHost host;
  Bench bench(host);
  bench.set_loads({5, 4, 3});
  bench.fleet.down(2);
  bench.pool = bench.fleet.pool();
  CHECK(bench.by_tokens(count_to(5)) == 1);
  CHECK(bench.count("fallback_least_load") == 1);
  CHECK(bench.count("ring_hit") == 0);
}

TEST_CASE("nobody eligible: declined") {
  RingHost host;
  Bench bench(host, 1);
  bench.fleet.set_state(0, SMG_STATUS_READY | SMG_STATE_BREAKER_OPEN);
  CHECK_FALSE(bench.by_tokens(count_to(5)));
  CHECK_FALSE(bench.by_tokens({}));
  CHECK(bench.count("no_healthy_workers") == 2);
}

TEST_CASE("the options reach the policy") {
  RingHost host;
  host.ints["prefix_token_count"] = 2;
  host.floats["load_factor"] = 3;
  host.ints["balance_abs_threshold"] = 0;
  Bench bench(host, 30);
  CHECK(bench.by_tokens({1, 2, 3}) == bench.by_tokens({1, 2, 4}));
  CHECK(bench.by_tokens({1, 2}) != bench.by_tokens({1, 3}));
  const std::uint32_t owner = bench.by_tokens({1, 2}).value();
  for (std::uint32_t i = 0; i < 30; ++i) bench.fleet.set_in_flight(i, 10);
  bench.fleet.set_in_flight(owner, 32);  // limit 3 * 323 / 30 = 32.3
  CHECK(bench.by_tokens({1, 2}) == owner);
  bench.fleet.set_in_flight(owner, 33);  // 32.4
  CHECK(bench.by_tokens({1, 2}) != owner);
  host.strings["cache_boundaries"] = "8,4";
  CHECK_THROWS_WITH_AS(LoadedPolicy(kLibrary, host), doctest::Contains("the item \"4\" is wrong"),
                       std::runtime_error);
}

TEST_CASE("choices are those of the rule, over random loads and vetoes") {
  RingHost host;
  const std::vector<std::uint32_t> boundaries{2, 4};
  host.strings["cache_boundaries"] = "2,4";
  constexpr std::uint32_t kWorkers = 6;
  Bench bench(host, kWorkers);
  const HashRing ring = ring_of(worker_urls(kWorkers));
  const prefix_hash::LoadLimit limit;
  Draw draw(3);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::uint32_t> loads;
    std::uint64_t total = 0, count = 0;
    std::optional<std::uint32_t> least;
    for (std::uint32_t i = 0; i < kWorkers; ++i) {
      draw.below(4) == 0 ? bench.fleet.down(i) : bench.fleet.up(i);
      loads.push_back(draw.below(draw.below(2) == 0 ? 4 : 60));
      if (!smg_pool_eligible(bench.pool->raw(), i)) continue;
      total += loads[i];
      ++count;
      if (!least || loads[i] < loads[*least]) least = i;
    }
    bench.set_loads(loads);
    const std::vector<std::uint32_t> tokens{draw.below(9), draw.below(9), draw.below(9),
                                            draw.below(9)};
    std::optional<std::uint32_t> expected;
    Visited visited;
    for (const std::size_t depth : {4u, 2u}) {
      char hex[17];
      std::snprintf(hex, sizeof hex, "%016llx",
                    static_cast<unsigned long long>(hash64(std::span(tokens).first(depth))));
      const auto owner = ring.find(hash64(hex), visited, [&](std::uint32_t i) {
        return smg_pool_eligible(bench.pool->raw(), i) != 0;
      });
      if (!expected && owner && limit.allows(loads[*owner], total, count)) expected = owner;
    }
    if (!expected) expected = least;
    CHECK(bench.by_tokens(tokens) == expected);
  }
}
