// Section 10.D of the policies page, D8 to D13 and D3: choices by prefix trees.
#include <doctest/doctest.h>

#include "rig.hpp"
#include "spill_gate.hpp"

using namespace smg::test;
using cache_aware::SpillGate;
using Chosen = std::set<std::uint32_t>;

namespace {

const std::string kPrompt(100, 'p');

Rig::Configure thresholds(double rel, std::int64_t abs) {
  return [=](FakeHost& host) {
    host.floats["balance_rel_threshold"] = rel;
    host.ints["balance_abs_threshold"] = abs;
  };
}

// With nobody else there, the request counts as a match only if the worker is a holder.
bool holds(Rig& rig, std::uint32_t worker, const std::string& prompt) {
  for (std::uint32_t i = 0; i < rig.fleet.size(); ++i) {
    if (i != worker) rig.fleet.down(i);
  }
  const double before = rig.branch("tree_match");
  rig.text(prompt);
  for (std::uint32_t i = 0; i < rig.fleet.size(); ++i) rig.fleet.up(i);
  return rig.branch("tree_match") == before + 1;
}

}  // namespace

TEST_CASE("policies D3: a match must be above the threshold, not at it") {
  Rig rig(2);
  rig.teach_text(0, "abcdefghij");
  rig.loads({1, 0});
  CHECK(rig.text("abc1234567") == 1);
  CHECK(rig.branch("expected_wait_fallback") == 2);
  CHECK(rig.text("abcd123456") == 0);
  CHECK(rig.branch("tree_match") == 1);
}

TEST_CASE("policies D7: the part that matched is of all tokens, also those that fill no page") {
  const auto configure = [](FakeHost& host) {
    host.ints["block_size"] = 4;
    host.floats["cache_threshold"] = 0.5;
  };
  Rig rig(2, configure);
  rig.teach_tokens(0, count_up(1, 12));
  rig.loads({1, 0});
  CHECK(rig.tokens({1, 2, 3, 4, 5, 6, 7, 8, 96, 97, 98, 99}) == 0);  // 8 of 12
  CHECK(rig.tokens({1, 2, 3, 4, 5, 6, 9, 9}) == 1);                  // 4 of 8
  CHECK(rig.tokens(count_up(1, 10)) == 0);                           // 8 of 10
  CHECK(rig.tokens({1, 2, 3}) == 1);                                 // less than a page
}

TEST_CASE("policies D8: a hot holder's requests spill, and who takes them becomes a holder") {
  Rig rig(2, thresholds(1.1, 32));
  rig.teach_text(0, kPrompt);
  rig.loads({10, 0});
  CHECK(rig.text(kPrompt) == 0);  // above 5.5, not above 37
  rig.loads({100, 0});
  CHECK(rig.text(kPrompt) == 1);
  CHECK(rig.branch("spill") == 1);
  CHECK(holds(rig, 1, kPrompt));
}

TEST_CASE("policies D8: with a small absolute threshold the same loads spill") {
  Rig rig(2, thresholds(1.1, 2));
  rig.teach_text(0, kPrompt);
  rig.loads({10, 0});
  CHECK(rig.text(kPrompt) == 1);
}

TEST_CASE("policies D9: both thresholds must be exceeded") {
  const auto choice = [](double rel, std::int64_t abs, std::initializer_list<std::uint32_t> loads) {
    Rig rig(static_cast<std::uint32_t>(loads.size()), thresholds(rel, abs));
    rig.teach_text(0, kPrompt);
    rig.loads(loads);
    return rig.text(kPrompt);
  };
  CHECK(choice(1.5, 64, {128, 0}) == 0);
  CHECK(choice(1.5, 64, {130, 0}) == 1);
  CHECK(choice(1.1, 32, {2000, 1900, 1900}) == 0);
  CHECK(choice(1.1, 32, {2000, 1500}) == 1);
  CHECK(choice(1.1, 32, {2200, 1900, 1900}) == 0);
}

TEST_CASE("policies D9: the relative threshold is the 32-bit number") {
  CHECK_FALSE(SpillGate(1.1, 32).hot(2200, 2000));
  CHECK(SpillGate(1.1, 32).hot(2201, 2000));
}

TEST_CASE("policies D10: all holders that are not hot may take it, others may not") {
  // Without reports the fewest requests in flight win.
  Rig rig(3);
  rig.teach_text(0, kPrompt);
  rig.loads({200, 0, 1});
  CHECK(rig.text(kPrompt) == 1);
  rig.loads({5, 0, 0});
  for (int i = 0; i < 20; ++i) CHECK(rig.text(kPrompt) == 1);
}

TEST_CASE("policies D10: equal holders are equally likely") {
  const Chosen seen = Rig::choices(
      [](Rig& rig) {
        const std::uint64_t random = rig.random;
        rig.teach_text(0, kPrompt);
        rig.loads({200, 0, 1});
        REQUIRE(rig.text(kPrompt) == 1);
        rig.loads({0, 0, 0});
        rig.random = random;
        return rig.text(kPrompt).value();
      },
      3);
  CHECK(seen == Chosen{0, 1});
}

TEST_CASE("policies D11: a deep queue elsewhere costs nobody its affinity") {
  Rig rig(2);
  rig.teach_text(0, kPrompt);
  rig.loads({0, 50});
  CHECK(rig.text(kPrompt) == 0);
  rig.loads({0, 5000});
  CHECK(rig.text(kPrompt) == 0);
}

TEST_CASE("policies D12: KV usage that differs too much suspends affinity") {
  const auto configure = [](FakeHost& host) { host.floats["balance_token_usage_threshold"] = 0.3; };
  Rig rig(2, configure);
  rig.teach_text(0, kPrompt);
  rig.loads({1, 0});
  rig.fleet.report(0, 0, 0, 1000, 0.9);
  rig.fleet.report(1, 0, 0, 1000, 0.1);
  CHECK(rig.text(kPrompt) == 1);
  // It was inserted for the worker that took it.
  rig.fleet.report(0, 0, 0, 1000, 0.1);
  CHECK(holds(rig, 1, kPrompt));
}

TEST_CASE("policies D12: all below the ceiling keep their affinity") {
  const auto configure = [](FakeHost& host) {
    host.floats["overload_token_usage_threshold"] = 0.95;
  };
  Rig rig(2, configure);
  rig.teach_text(0, kPrompt);
  rig.loads({1, 0});
  rig.fleet.report(0, 0, 0, 1000, 0.9);
  rig.fleet.report(1, 0, 0, 1000, 0.9);
  CHECK(rig.text(kPrompt) == 0);
}

TEST_CASE("policies D12: above the ceiling the shortest wait decides, not the fewest requests") {
  const auto configure = [](FakeHost& host) {
    host.floats["overload_token_usage_threshold"] = 0.95;
  };
  Rig rig(2, configure);
  rig.teach_text(0, kPrompt);
  rig.loads({0, 1});
  rig.fleet.report(0, 0, 0, 1000, 0.96);
  rig.fleet.report(1, 0, 0, 1000, 0.9);
  CHECK(rig.text(kPrompt) == 1);
}

TEST_CASE("policies D13: with all holders hot it goes to the best of those who are not") {
  Rig rig(3);
  rig.teach_text(0, kPrompt);
  rig.loads({300, 100, 100});
  rig.fleet.report(0, 0, 0, 1000, 0);
  rig.fleet.report(1, 0, 9000, 1000, 0);
  rig.fleet.report(2, 0, 500, 1000, 0);
  CHECK(rig.text(kPrompt) == 2);
  CHECK(rig.branch("spill") == 1);
}

TEST_CASE("a request to a single holder is booked, so that the next miss goes elsewhere") {
  Rig rig(2);
  rig.teach_text(0, kPrompt);
  rig.fleet.report(0, 0, 0, 1000, 0);
  rig.fleet.report(1, 0, 0, 1000, 0);
  CHECK(rig.text(kPrompt) == 0);
  CHECK(rig.text("something else entirely") == 1);
}

TEST_CASE("misses spread over an idle fleet") {
  Rig rig(8);
  for (std::uint32_t i = 0; i < 8; ++i) rig.fleet.report(i, 0, 0, 1000, 0);
  Chosen seen;
  for (char first = 'a'; first < 'i'; ++first)
    seen.insert(rig.text(std::string(50, first)).value());
  CHECK(seen.size() == 8);
}

TEST_CASE("a holder that is not eligible is no holder, until it is back") {
  Rig rig(2);
  rig.teach_text(0, kPrompt);
  rig.fleet.down(0);
  CHECK(rig.text(kPrompt) == 1);
  CHECK(rig.branch("expected_wait_fallback") == 2);
  rig.fleet.up(0);
  rig.fleet.down(1);
  CHECK(rig.text(kPrompt) == 0);
  rig.fleet.down(0);
  CHECK(rig.text(kPrompt) == std::nullopt);
}

TEST_CASE("a missing text is the empty one: no match, nothing remembered") {
  Rig rig(2);
  rig.teach_text(0, "");
  rig.loads({1, 0});
  CHECK(rig.text("") == 1);
  CHECK(rig.branch("expected_wait_fallback") == 2);
}

TEST_CASE("namespaces do not see each other's prompts, and each sees its own") {
  Rig rig(3);
  rig.teach(0, [](Rig& each) { return each.text(kPrompt, "one"); });
  rig.loads({1, 0, 1});
  CHECK(rig.text(kPrompt, "two") == 1);
  CHECK(rig.text(kPrompt) == 1);
  CHECK(rig.branch("tree_match") == 0);
  CHECK(rig.text(kPrompt, "one") == 0);
  CHECK(rig.branch("tree_match") == 1);
}

TEST_CASE("namespaces of token prompts are apart as well") {
  Rig rig(3);
  const Tokens prompt = count_up(1, 64);
  rig.teach(0, [&](Rig& each) { return each.tokens(prompt, "one"); });
  rig.loads({1, 0, 1});
  CHECK(rig.tokens(prompt, "two") == 1);
  CHECK(rig.tokens(prompt, "one") == 0);
  CHECK(rig.branch("tree_match") == 1);
}

TEST_CASE("a match of the namespace's marker alone is none") {
  Rig rig(2);
  rig.teach(0, [](Rig& each) { return each.text("abcdefgh", "one"); });
  rig.loads({1, 0});
  CHECK(rig.text("12345678", "one") == 1);  // 18 of 26 with the marker
  CHECK(rig.branch("tree_match") == 0);
}

TEST_CASE("the match ratio is observed once for each choice by a tree") {
  Rig rig(2);
  rig.teach_text(0, "abcdefghij");
  CHECK(rig.host.metric("smg_cache_aware_match_ratio") == 0);
  rig.text("abcde12345");
  CHECK(rig.host.metric("smg_cache_aware_match_ratio") == doctest::Approx(0.5));
}

TEST_CASE("a pool that the policy was not told of is chosen from by load") {
  Rig rig(2);
  const auto other = rig.fleet.pool({0, 1}, "other");
  rig.loads({1, 0});
  CHECK(rig.policy->select(other->raw(), 1) == 1);
}
