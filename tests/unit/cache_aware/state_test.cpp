// What cache_aware hands over to its successor, and what that does with it.
#include "state.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache_aware.hpp"
#include "handover.hpp"
#include "rig.hpp"

using namespace smg::test;
using cache_aware::CacheAware;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

std::string state_of(const Rig& rig) {
  return export_state(rig.policy->plugin(), rig.policy->self());
}
Outcome give(Rig& rig, std::string_view state) {
  return import_state(rig.policy->plugin(), rig.policy->self(), state);
}

void hash_mode(FakeHost& host) {
  host.strings["cache_index"] = "hash";
  host.strings["cache_boundaries"] = "16,64";
}

// Workers 5 to 1, so that each has another slot and another place in the pool.
void reverse_fleet(Rig& rig) {
  for (int i = 5; i >= 1; --i) rig.fleet.add("http://w" + std::to_string(i) + ":8000");
  auto next = rig.fleet.pool();
  rig.policy->pool_changed(rig.pool->raw(), next->raw());
  rig.pool = std::move(next);
}

std::string prompt(std::uint32_t number) {
  return std::string(1, static_cast<char>('a' + number % 26)) + std::to_string(number) + " " +
         std::string(100, '.');
}

// A rig whose five workers were sent ten prompts each, of each kind.
std::unique_ptr<Rig> taught(const Rig::Configure& configure = [](FakeHost&) {}) {
  auto rig = std::make_unique<Rig>(5, configure);
  for (std::uint32_t i = 0; i < 50; ++i) {
    if (rig->host.strings["cache_index"] == "tree") rig->teach_text(i % 5, prompt(i));
    rig->teach_tokens(i % 5, count_up(1000 * i, 1000 * i + 79));
  }
  return rig;
}

// The policy itself on three workers of model "m".
struct Instance {
  explicit Instance(const Rig::Configure& configure = [](FakeHost&) {}) : fleet(3) {
    host.time = 1000 * kSecond;
    set_defaults(host);
    configure(host);
    policy = std::make_unique<CacheAware>(smg::Host(host.raw()));
    pool = fleet.pool();
    policy->pool_changed(nullptr, pool->raw());
  }
  cache_aware::ModelState& model() { return *policy->models().list()->at(0); }
  bool is_empty() {
    return model().strings.size() == 0 && model().tokens.size() == 0 &&
           model().placement.recount() == 0 && model().index.recount().memberships == 0 &&
           model().index.recount().handles == 0;
  }
  std::string state() const {
    StateKeeper keeper;
    smg::StateWriter writer(keeper.writer());
    policy->export_state(writer);
    writer.flush();
    return std::move(keeper.bytes());
  }
  // Something of everything, whatever the options say.
  void fill() {
    const auto tenant = [&](std::uint32_t worker) {
      return model().tenants.find(fleet.url(worker)).value();
    };
    for (std::uint32_t i = 0; i < 12; ++i) {
      model().strings.insert(prompt(i % 4) + std::to_string(i), tenant(i % 3));
      model().tokens.insert(count_up(1 + i % 4, 64), tenant(i % 3));
      model().placement.record({i % 7, 64}, tenant(i % 3), host.time - i * kSecond);
      const Tokens ids = count_up(i, i + 7);
      const std::uint64_t blocks[] = {2 * i + 1, 2 * i + 2};
      model().index.stored(tenant(i % 3), {.engine_hashes = blocks, .tokens = ids, .block_size = 4},
                           900 + i);
    }
  }

  FakeHost host;
  FakeFleet fleet;
  std::unique_ptr<FakePool> pool;
  std::unique_ptr<CacheAware> policy;
};

}  // namespace

TEST_CASE("after a hand-over prompts go where they went before, whatever slots workers have") {
  const auto before = taught();
  Rig after(0);
  reverse_fleet(after);
  REQUIRE(give(after, state_of(*before)).status == SMG_OK);
  const double chars_here = after.host.metric("smg_cache_tree_chars{m}");
  for (std::uint32_t i = 0; i < 50; ++i) {
    CHECK(after.text(prompt(i) + "?") == 4 - i % 5);
    CHECK(after.tokens(count_up(1000 * i, 1000 * i + 90)) == 4 - i % 5);
  }
  CHECK(after.branch("tree_match") == 100);
  double chars = 0;
  for (std::uint32_t i = 0; i < 50; ++i) chars += static_cast<double>(prompt(i).size());
  CHECK(chars_here == chars);
}

TEST_CASE("without a hand-over the same prompts are new") {
  Rig after(0);
  reverse_fleet(after);
  for (std::uint32_t i = 0; i < 50; ++i) after.text(prompt(i) + "?");
  CHECK(after.branch("tree_match") == 0);
}

TEST_CASE("a cache namespace is handed over as one") {
  Rig before(3), after(3);
  before.teach(1, [](Rig& rig) { return rig.text(prompt(1), "salt"); });
  REQUIRE(give(after, state_of(before)).status == SMG_OK);
  after.loads({5, 0, 5});
  CHECK(after.text(prompt(1), "salt") == 1);
  CHECK(after.branch("tree_match") == 1);
  after.text(prompt(1), "pepper");
  after.text(prompt(1));
  CHECK(after.branch("tree_match") == 1);
}

TEST_CASE("hash placements are handed over with their age") {
  const auto before = taught(hash_mode);
  before->host.time += 100 * kSecond;
  Rig after(0, hash_mode);
  after.host.time = 7000 * kSecond;  // a clock of its own
  reverse_fleet(after);
  REQUIRE(give(after, state_of(*before)).status == SMG_OK);
  CHECK(after.host.metric("smg_cache_placement_entries{m}") == 100);
  for (std::uint32_t worker = 0; worker < 5; ++worker) {
    // All others are busier, but within the limits.
    for (std::uint32_t i = 0; i < 5; ++i) after.fleet.set_in_flight(i, i == worker ? 1 : 0);
    CHECK(after.tokens(count_up(1000 * (4 - worker), 1000 * (4 - worker) + 90)) == worker);
  }
  Rig late(5, hash_mode);
  REQUIRE(give(late, state_of(*before)).status == SMG_OK);
  late.host.advance(81 * kSecond);  // of 180
  late.loads({0, 1, 1, 1, 1});
  CHECK(late.tokens(count_up(1000, 1090)) == 0);
}

TEST_CASE("blocks that engines reported are handed over, under the hashes of the engine") {
  Rig before(0), after(3);
  for (int i = 3; i >= 1; --i) before.fleet.add("http://w" + std::to_string(i) + ":8000");
  auto next = before.fleet.pool();
  before.policy->pool_changed(before.pool->raw(), next->raw());
  before.pool = std::move(next);
  const Tokens ids = count_up(1, 16);
  before.stored(0, {11, 12, 13, 14}, ids);  // w3
  before.stored(1, {11, 12}, count_up(1, 8));
  REQUIRE(give(after, state_of(before)).status == SMG_OK);
  after.loads({0, 0, 1});
  CHECK(after.tokens(ids) == 2);
  // The engine goes on from a block that only the state told of, and takes it back.
  after.stored(2, {15}, count_up(17, 20), 14);
  CHECK(after.tokens(count_up(1, 20)) == 2);
  after.kv(2, SMG_KV_REMOVED, {15, 14, 13, 12, 11});
  after.loads({1, 1, 0});
  CHECK(after.tokens(ids) == 1);
}

TEST_CASE("with another block size the texts are taken over, the tokens are not") {
  const auto before = taught();
  Rig after(5, [](FakeHost& host) { host.ints["block_size"] = 32; });
  REQUIRE(give(after, state_of(*before)).status == SMG_OK);
  CHECK(after.host.metric("smg_cache_tree_chars{m}") > 0);
  CHECK(after.host.metric("smg_cache_tree_tokens{m}") == 0);
  CHECK(after.text(prompt(7)) == 2);
}

TEST_CASE("what an instance has no use for is not taken over") {
  const auto trees = taught();
  Rig hashes(5, hash_mode);
  REQUIRE(give(hashes, state_of(*trees)).status == SMG_OK);
  CHECK(hashes.host.metric("smg_cache_tree_chars{m}") == 0);
  CHECK(hashes.host.metric("smg_cache_tree_tokens{m}") == 0);
  const auto placements = taught(hash_mode);
  Rig plain(5);
  REQUIRE(give(plain, state_of(*placements)).status == SMG_OK);
  CHECK(plain.host.metric("smg_cache_placement_entries{m}") == 0);
}

TEST_CASE("an instance with a smaller tree keeps what was used last") {
  const auto before = taught();
  constexpr int kBudget = 400;
  Rig after(5, [](FakeHost& host) { host.ints["max_tree_size"] = kBudget; });
  REQUIRE(give(after, state_of(*before)).status == SMG_OK);
  CHECK(after.host.metric("smg_cache_tree_chars{m}") <= kBudget);
  CHECK(after.host.metric("smg_cache_tree_tokens{m}") <= kBudget);
  CHECK(after.text(prompt(49)) == 4);
  CHECK(after.branch("tree_match") == 1);
  after.text(prompt(40));
  CHECK(after.branch("tree_match") == 1);
}

TEST_CASE("models and workers that are gone are left out") {
  Rig before(3);
  const auto other = before.fleet.pool({0, 1}, "other");
  before.policy->pool_changed(nullptr, other->raw());
  before.teach_text(0, prompt(1));
  before.teach_text(2, prompt(2));
  smg_policy_request request{};
  const std::string text = prompt(3);
  request.text = view_of(text);
  before.policy->select(other->raw(), request);
  Rig after(2);
  REQUIRE(give(after, state_of(before)).status == SMG_OK);
  CHECK(after.host.metric("smg_cache_tree_chars{m}") == static_cast<double>(prompt(1).size()));
  CHECK(after.text(prompt(1)) == 0);
}

TEST_CASE("a state in another format is refused by name, and the instance starts empty") {
  const auto before = taught();
  Rig after(5);
  const Outcome outcome = import_state(after.policy->plugin(), after.policy->self(),
                                       "cache_aware/2", state_of(*before));
  CHECK(outcome.status == SMG_E_UNSUPPORTED);
  CHECK(outcome.error ==
        "the state is in the format `cache_aware/2`, this version reads `cache_aware/1`");
  CHECK(after.text(prompt(1)).has_value());
  CHECK(after.branch("tree_match") == 0);
}

TEST_CASE("of every beginning of a state nothing stays, of changed ones nothing wrong") {
  for (const bool hashes : {false, true}) {
    const Rig::Configure configure = hashes ? hash_mode : [](FakeHost&) {};
    Instance before(configure), after(configure);
    before.fill();
    const std::string state = before.state();
    CHECK(after.is_empty());
    const auto give = [&](std::string_view bytes) {
      try {
        after.policy->import_state(CacheAware::kStateFormat, bytes);
      } catch (const smg::Error& error) {
        REQUIRE(error.status() == SMG_E_INVALID);
        REQUIRE(after.is_empty());
        return false;
      }
      return true;
    };
    for (std::size_t size = 0; size < state.size(); ++size) {
      REQUIRE_FALSE(give(std::string_view(state).substr(0, size)));
    }
    std::uint64_t random = 3;
    const auto below = [&](std::uint64_t bound) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      return (random >> 33) % bound;
    };
    for (int i = 0; i < 4000; ++i) {
      std::string changed = state;
      for (std::uint64_t flips = 1 + below(3); flips > 0; --flips) {
        changed[below(changed.size())] ^= static_cast<char>(1u << below(8));
      }
      if (!give(changed)) continue;
      const auto strings = after.model().strings.recount();
      const auto tokens = after.model().tokens.recount();
      REQUIRE(strings.faults + tokens.faults == 0);
      REQUIRE(strings.total == after.model().strings.size());
      REQUIRE(tokens.total == after.model().tokens.size());
      REQUIRE(after.model().index.recount().memberships == after.model().index.size());
      smg_policy_request request{};
      const std::string text = prompt(1);
      request.text = view_of(text);
      REQUIRE(after.policy->select(smg::Request(request), smg::Pool(*after.pool->raw())));
      after.model().forget();
      REQUIRE(after.is_empty());
    }
    // And the whole of it, after all that.
    REQUIRE(give(state));
    CHECK_FALSE(after.is_empty());
  }
}

TEST_CASE("an engine's blocks do not mix with those of another block size") {
  Instance before, after;
  before.fill();
  const Tokens ids = count_up(1, 8);
  const std::uint64_t block = 77;
  const auto worker = after.model().tenants.find(after.fleet.url(0)).value();
  after.model().index.stored(worker, {.engine_hashes = {&block, 1}, .tokens = ids, .block_size = 8},
                             900);
  after.policy->import_state(CacheAware::kStateFormat, before.state());
  CHECK(after.model().index.block_size() == 8);
  CHECK(after.model().index.recount().memberships == 1);
}
