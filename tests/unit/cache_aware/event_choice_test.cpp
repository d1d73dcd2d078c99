// Section 10.E of the policies page: choices by what engines say about their caches.
#include <doctest/doctest.h>

#include "rig.hpp"

using namespace smg::test;
using Chosen = std::set<std::uint32_t>;

namespace {

// w1 holds 1..12, w2 1..8, in blocks of 4.
void fill(Rig& rig) {
  rig.stored(0, {11, 12, 13}, count_up(1, 12));
  rig.stored(1, {21, 22}, count_up(1, 8));
}

}  // namespace

TEST_CASE("policies E1: the worker with the most leading blocks") {
  Rig rig(3);
  fill(rig);
  rig.loads({2, 1, 0});
  CHECK(rig.tokens(count_up(1, 16)) == 0);
  CHECK(rig.tokens(count_up(1, 12)) == 0);
}

TEST_CASE("policies E1: of equal overlaps the shortest expected wait, never who has none") {
  Rig rig(3);
  fill(rig);
  rig.loads({2, 1, 0});
  CHECK(rig.tokens(count_up(1, 8)) == 1);
  const Chosen seen = Rig::choices(
      [](Rig& each) {
        fill(each);
        return each.tokens(count_up(1, 8)).value();
      },
      3);
  CHECK(seen == Chosen{0, 1});
}

TEST_CASE("policies E1: less than a block, and a prompt nobody knows, go by load") {
  Rig rig(3);
  fill(rig);
  rig.loads({2, 1, 0});
  CHECK(rig.tokens({1, 2, 3}) == 2);
  CHECK(rig.tokens(count_up(100, 120)) == 2);
  // No tree was asked.
  CHECK(rig.branch("expected_wait_fallback") == 0);
}

TEST_CASE("policies E2: a removed last block no longer counts") {
  Rig rig(3);
  fill(rig);
  rig.loads({1, 0, 0});
  CHECK(rig.tokens(count_up(1, 12)) == 0);
  rig.kv(0, SMG_KV_REMOVED, {13});
  CHECK(rig.tokens(count_up(1, 12)) == 1);
}

TEST_CASE("policies E3: a worker with a long queue loses part of its overlap") {
  const auto choice = [](double decay, bool report_first) {
    Rig rig(2, [=](FakeHost& host) { host.floats["overlap_decay"] = decay; });
    // 16 tokens in a block: w1 holds 8 blocks, w2 6.
    rig.kv(0, SMG_KV_STORED, {1, 2, 3, 4, 5, 6, 7, 8}, count_up(1, 128), 0, 16);
    rig.kv(1, SMG_KV_STORED, {1, 2, 3, 4, 5, 6}, count_up(1, 96), 0, 16);
    if (report_first) rig.fleet.report(0, 0, 1024, 1000, 0);
    rig.fleet.report(1, 0, 0, 1000, 0);
    return rig.tokens(count_up(1, 128));
  };
  CHECK(choice(0, true) == 0);
  CHECK(choice(1.0, true) == 1);
  CHECK(choice(0.05, true) == 1);
  CHECK(choice(0.04, true) == 0);  // 8 / 1.32 = 6.06
  CHECK(choice(1.0, false) == 0);  // nobody knows its queue
}

TEST_CASE("policies E5: blocks with an unknown parent begin a prompt of their own") {
  Rig rig(2);
  rig.stored(0, {13}, {9, 10, 11, 12}, 12345);
  rig.loads({1, 0});
  CHECK(rig.tokens(count_up(1, 12)) == 1);
  CHECK(rig.tokens(count_up(9, 12)) == 0);
}

TEST_CASE("policies E6: the same block after another prefix does not count") {
  Rig rig(3);
  const Tokens a = count_up(1, 4), b = count_up(5, 8), x = count_up(50, 53);
  rig.stored(0, {1}, a);
  rig.stored(1, {1, 2}, [&] {
    Tokens both = x;
    both.insert(both.end(), b.begin(), b.end());
    return both;
  }());
  // Were w1 given 2 blocks, or w2 any, one of the idle ones would do.
  rig.loads({5, 0, 0});
  Tokens query = a;
  query.insert(query.end(), b.begin(), b.end());
  CHECK(rig.tokens(query) == 0);
}

TEST_CASE("policies E8: while no engine said anything the token tree is used") {
  Rig rig(2);
  rig.teach_tokens(0, count_up(1, 64));
  rig.loads({1, 0});
  CHECK(rig.tokens(count_up(1, 64)) == 0);
  CHECK(rig.branch("tree_match") == 1);
  // What is stored and removed again leaves nothing.
  rig.stored(1, {1}, count_up(1, 4));
  CHECK(rig.tokens(count_up(1, 64)) == 1);
  rig.kv(1, SMG_KV_CLEARED, {});
  CHECK(rig.tokens(count_up(1, 64)) == 0);
  CHECK(rig.branch("tree_match") == 2);
}

TEST_CASE("a prompt given as text is none of the engines' blocks") {
  Rig rig(2);
  fill(rig);
  rig.loads({1, 0});
  rig.text("some text");
  CHECK(rig.branch("expected_wait_fallback") == 1);
}

TEST_CASE("a hot holder of blocks spills, and the index is not written by that") {
  Rig rig(2);
  rig.stored(0, {1, 2, 3}, count_up(1, 12));
  rig.loads({130, 0});
  CHECK(rig.tokens(count_up(1, 12)) == 1);
  rig.loads({1, 0});
  CHECK(rig.tokens(count_up(1, 12)) == 0);
}

TEST_CASE("events about a worker that is in no pool are ignored") {
  Rig rig(2);
  const auto stranger = rig.fleet.add("http://stranger:8000");
  rig.stored(stranger, {1}, count_up(1, 4));
  rig.teach_tokens(0, count_up(1, 64));
  CHECK(rig.branch("expected_wait_fallback") == 1);
}

TEST_CASE("a temperature spreads over holders with less overlap, in proportion") {
  // Scores 3 and 2 of two candidates: 0.8808 and 0.1192 at 0.5.
  Rig rig(2, [](FakeHost& host) { host.floats["selection_temperature"] = 0.5; });
  fill(rig);
  int first = 0;
  constexpr int kRequests = 4000;
  for (int i = 0; i < kRequests; ++i) {
    rig.random = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u;
    first += rig.tokens(count_up(1, 12)) == 0 ? 1 : 0;
  }
  CHECK(first == doctest::Approx(0.8808 * kRequests).epsilon(0.02));
}
