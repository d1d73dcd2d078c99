#include "evictor.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "rig.hpp"

using namespace smg::test;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// The evictor works on a thread of its own; that it comes to this in the end is what is tested.
template <class Condition>
bool comes_true(Condition condition) {
  for (std::uint64_t turn = 0; turn < 50'000'000; ++turn) {
    if (condition()) return true;
    std::this_thread::yield();
  }
  return false;
}

}  // namespace

TEST_CASE("each eviction interval trees go down to their budget and gauges are set") {
  Rig rig(2, [](FakeHost& host) { host.ints["max_tree_size"] = 100; });
  rig.text(std::string(60, 'a'));
  rig.text(std::string(50, 'b'));
  rig.tokens(count_up(1, 32));
  CHECK(rig.host.metric("smg_cache_tree_chars{m}") == 0);
  rig.host.advance(120 * kSecond);
  CHECK(comes_true([&] { return rig.host.metric("smg_cache_tree_tokens{m}") == 32; }));
  CHECK(rig.host.metric("smg_cache_tree_chars{m}") == 50);
  CHECK(comes_true([&] { return rig.host.metric("smg_cache_tree_tenants{m,token}") == 2; }));
  CHECK(rig.host.metric("smg_cache_tree_tenants{m,string}") == 2);
  // And again.
  rig.text(std::string(90, 'c'));
  rig.host.advance(120 * kSecond);
  CHECK(comes_true([&] { return rig.host.metric("smg_cache_tree_chars{m}") == 90; }));
}

TEST_CASE("a tree that outgrew its budget by an eighth is not left to the timer") {
  Rig rig(2, [](FakeHost& host) { host.ints["max_tree_size"] = 160; });
  rig.text(std::string(100, 'a'));
  rig.text(std::string(80, 'b'));
  CHECK(rig.host.metric("smg_cache_tree_chars{m}") == 0);
  rig.text("x");  // 181
  CHECK(comes_true([&] { return rig.host.metric("smg_cache_tree_chars{m}") == 81; }));
}

TEST_CASE("dead placements are swept") {
  Rig rig(2, [](FakeHost& host) {
    host.strings["cache_index"] = "hash";
    host.strings["cache_boundaries"] = "4,8";
  });
  rig.tokens(count_up(1, 12));
  rig.host.advance(120 * kSecond);
  CHECK(comes_true([&] { return rig.host.metric("smg_cache_placement_entries{m}") == 2; }));
  rig.host.advance(120 * kSecond);
  CHECK(comes_true([&] { return rig.host.metric("smg_cache_placement_entries{m}") == 0; }));
}

TEST_CASE("engines' blocks that nobody asks for are forgotten after their time to live") {
  Rig rig(2, [](FakeHost& host) { host.ints["kv_indexer_ttl_secs"] = 20; });
  rig.stored(0, {1}, count_up(1, 4));
  rig.teach_tokens(1, count_up(101, 116));
  CHECK(rig.branch("expected_wait_fallback") == 0);  // by events
  rig.host.advance(31 * kSecond);
  // Without any block left the tree is asked again.
  CHECK(comes_true([&] {
    rig.tokens(count_up(101, 116));
    return rig.branch("expected_wait_fallback") > 0;
  }));
}

TEST_CASE("the gauges of a model that is gone are zero") {
  Rig rig(2);
  rig.text("some text");
  rig.host.advance(120 * kSecond);
  CHECK(comes_true([&] { return rig.host.metric("smg_cache_tree_chars{m}") == 9; }));
  rig.policy->pool_changed(rig.pool->raw(), nullptr);
  CHECK(rig.host.metric("smg_cache_tree_chars{m}") == 0);
  CHECK(rig.host.metric("smg_cache_tree_tenants{m,string}") == 0);
}
