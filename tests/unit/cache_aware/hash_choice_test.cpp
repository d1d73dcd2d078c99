// Section 10.F of the policies page: choices by hash placement, boundaries 4 and 8, 180 s.
#include <doctest/doctest.h>

#include "rig.hpp"

using namespace smg::test;
using Chosen = std::set<std::uint32_t>;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

void hash_mode(FakeHost& host) {
  host.strings["cache_index"] = "hash";
  host.strings["cache_boundaries"] = "4,8";
  // So that time moves in a test without a sweep.
  host.ints["eviction_interval_secs"] = 1'000'000;
}

const Tokens kPrompt = count_up(1, 12);

}  // namespace

TEST_CASE("policies F1: the first request goes by load and is remembered, the second follows it") {
  Rig rig(3, hash_mode);
  rig.teach_tokens(0, kPrompt);
  rig.loads({1, 0, 0});
  CHECK(rig.tokens(kPrompt) == 0);
  CHECK(rig.tokens(count_up(1, 8)) == 0);
}

TEST_CASE("policies F2: a shorter prompt is found at its boundary, one too short at none") {
  Rig rig(3, hash_mode);
  rig.teach_tokens(0, kPrompt);
  rig.loads({1, 0, 1});
  CHECK(rig.tokens(count_up(1, 6)) == 0);
  CHECK(rig.tokens({1, 2, 3}) == 1);
  CHECK(rig.tokens({1, 2, 3, 99}) == 1);  // was not remembered for anybody
  CHECK(rig.tokens({}) == 1);
}

TEST_CASE("policies F3: a hit at one boundary is remembered at all") {
  Rig rig(3, hash_mode);
  rig.teach_tokens(0, kPrompt);
  rig.loads({1, 0, 0});
  const Tokens branch{1, 2, 3, 4, 50, 51, 52, 53};
  CHECK(rig.tokens(branch) == 0);
  // Another holder at boundary 4 only: the deeper boundary decides.
  rig.fleet.down(0);
  rig.loads({0, 1, 0});
  CHECK(rig.tokens(count_up(1, 4)) == 2);
  rig.fleet.up(0);
  rig.loads({9, 0, 0});
  CHECK(rig.tokens(branch) == 0);
}

TEST_CASE("policies F4: a holder lives for the time to live and no longer") {
  Rig rig(3, hash_mode);
  rig.teach_tokens(0, kPrompt);
  rig.loads({1, 0, 0});
  rig.host.advance(180 * kSecond);
  CHECK(rig.tokens(kPrompt) == 0);
  rig.host.advance(180 * kSecond + 1'000'000);
  CHECK(rig.tokens(kPrompt) != 0);
}

TEST_CASE("policies F5: of three holders the longest unused makes room for a fourth") {
  Rig rig(4, hash_mode);
  for (std::uint32_t worker = 0; worker < 4; ++worker) {
    rig.host.advance(kSecond);
    for (std::uint32_t i = 0; i < 4; ++i) {
      if (i != worker) rig.fleet.down(i);
    }
    CHECK(rig.tokens(kPrompt) == worker);
    for (std::uint32_t i = 0; i < 4; ++i) rig.fleet.up(i);
  }
  rig.loads({0, 1, 2, 3});
  CHECK(rig.tokens(kPrompt) == 1);
  rig.fleet.down(1);
  CHECK(rig.tokens(kPrompt) == 2);
}

TEST_CASE("policies F6: a hot holder spills, and who takes it is a holder at all boundaries") {
  Rig rig(3, [](FakeHost& host) {
    hash_mode(host);
    host.floats["balance_rel_threshold"] = 1.1;
    host.ints["balance_abs_threshold"] = 32;
  });
  rig.fleet.down(2);
  rig.teach_tokens(0, kPrompt);
  rig.loads({100, 0});
  CHECK(rig.tokens(kPrompt) == 1);
  rig.fleet.up(2);
  rig.fleet.down(0);
  rig.loads({0, 1, 0});
  CHECK(rig.tokens(count_up(1, 4)) == 1);
  CHECK(rig.tokens(kPrompt) == 1);
}

TEST_CASE("KV pressure sends by load and remembers it") {
  Rig rig(2, [](FakeHost& host) {
    hash_mode(host);
    host.floats["overload_token_usage_threshold"] = 0.9;
  });
  rig.teach_tokens(0, kPrompt);
  rig.fleet.report(0, 0, 0, 1000, 0.95);
  rig.fleet.report(1, 0, 0, 1000, 0.5);
  CHECK(rig.tokens(kPrompt) == 1);
  rig.fleet.down(0);
  rig.fleet.up(0);
  rig.fleet.report(0, 0, 0, 1000, 0.5);
  rig.fleet.report(1, 0, 10, 1000, 0.5);
  CHECK(rig.tokens(kPrompt) == 0);  // both hold it now
}

TEST_CASE("hash placements of namespaces are apart") {
  Rig rig(2, hash_mode);
  rig.teach(0, [](Rig& each) { return each.tokens(kPrompt, "one"); });
  rig.loads({1, 0});
  CHECK(rig.tokens(kPrompt, "two") == 1);
  CHECK(rig.tokens(kPrompt) == 1);
  CHECK(rig.tokens(kPrompt, "one") == 0);
}

TEST_CASE("texts have no hash placement") {
  Rig rig(2, hash_mode);
  rig.teach_text(0, "some text that is long enough");
  rig.loads({1, 0});
  CHECK(rig.text("some text that is long enough") == 1);
}
