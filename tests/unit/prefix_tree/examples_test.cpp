// The worked examples of the trees, by the names that the specification gives them.
#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "support.hpp"

namespace {

using namespace smg::prefix_tree;
using namespace smg::prefix_tree::test;

constexpr Tenant w1{1, 1};
constexpr Tenant w2{2, 1};

struct Words : StringTree {
  Words() {
    add_tenant(w1);
    add_tenant(w2);
  }
};

// The comparison that cache_aware makes, in 32-bit floats.
bool is_hit(const Match& found, float threshold) {
  return found.input != 0 &&
         static_cast<float>(found.matched) / static_cast<float>(found.input) > threshold;
}

std::vector<uint32_t> sequence(uint32_t first, uint32_t last) {
  std::vector<uint32_t> tokens(last - first + 1);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

}  // namespace

TEST_CASE("D1 a shared beginning has several holders and is counted once for each") {
  Words tree;
  tree.insert("hello", w1);
  tree.insert("hello", w2);
  tree.insert("help!", w1);
  CHECK(tree.size(w1) == 7);
  CHECK(tree.size(w2) == 5);
  CHECK(tree.size() == 12);
  const auto check = [&](std::string_view text, uint64_t matched, uint64_t input,
                         std::vector<Tenant> holders) {
    CAPTURE(text);
    const Match found = look_up(tree, text);
    CHECK(found.matched == matched);
    CHECK(found.input == input);
    CHECK(names_only(found, holders));
  };
  check("help me", 4, 7, {w1});
  check("hey", 2, 3, {w1, w2});
  check("hello world", 5, 11, {w1, w2});
  check("jello", 0, 5, {});
}

TEST_CASE("D2 characters are counted and never cut") {
  Words tree;
  tree.insert("héllo wörld", w1);
  CHECK(tree.size() == 11);
  CHECK(look_up(tree, "héllo!").matched == 5);
  CHECK(look_up(tree, "héllo!").input == 6);
  CHECK(look_up(tree, "hèllo").matched == 1);
  CHECK(look_up(tree, "hèllo").input == 5);
}

TEST_CASE("D3 a share of exactly the threshold is a miss") {
  Words tree;
  tree.insert("abcd------", w1);
  CHECK_FALSE(is_hit(look_up(tree, "abc0123456"), 0.3f));
  CHECK(is_hit(look_up(tree, "abcd012345"), 0.3f));
}

TEST_CASE("D4 eviction takes the least recently used leaf, whoever holds it") {
  Words tree;
  tree.insert("aaaa", w1);
  tree.insert("bbbb", w2);
  tree.insert("cccc", w1);
  CHECK(tree.evict(8) == 4);
  CHECK(look_up(tree, "aaaa").matched == 0);
  CHECK(tree.size(w1) == 4);
  CHECK(tree.size(w2) == 4);
}

TEST_CASE("D5 a node that becomes a leaf for its holder goes in the same run") {
  Words tree;
  tree.insert("abcdef", w1);
  tree.insert("abcxyz", w2);
  CHECK(tree.evict(3) == 9);
  CHECK(tree.size(w1) == 0);
  CHECK(tree.size(w2) == 3);
  CHECK(look_up(tree, "abcdef").matched == 3);
  CHECK(names_only(look_up(tree, "abcxyz"), {w2}));
  CHECK(tree.evict(0) == 3);
  CHECK(tree.size() == 0);
  CHECK(look_up(tree, "abc").matched == 0);
}

TEST_CASE("D6 what two texts of a holder share outlives the older one") {
  Words tree;
  tree.insert("abcdef", w1);
  tree.insert("abcxyz", w1);
  CHECK(tree.size() == 9);
  CHECK(tree.evict(6) == 3);
  CHECK(look_up(tree, "abcdef").matched == 3);
  CHECK(look_up(tree, "abcdef").input == 6);
}

TEST_CASE("D7 tokens match in whole pages") {
  TokenTree tree(4);
  tree.add_tenant(w1);
  tree.insert(sequence(1, 12), w1);
  const auto check = [&](const std::vector<uint32_t>& tokens, uint64_t matched, uint64_t input) {
    CHECK(look_up(tree, tokens).matched == matched);
    CHECK(look_up(tree, tokens).input == input);
  };
  check({1, 2, 3, 4, 5, 6, 7, 8, 96, 97, 98, 99}, 8, 12);
  check({1, 2, 3, 4, 5, 6, 9, 9}, 4, 8);
  CHECK_FALSE(is_hit(look_up(tree, std::vector<uint32_t>{1, 2, 3, 4, 5, 6, 9, 9}), 0.5f));
  check(sequence(1, 10), 8, 10);
  check({1, 2, 3}, 0, 3);

  bool chosen = false;
  tree.match_and_insert(std::vector<uint32_t>{1, 2, 3}, anyone, 1, [&](const Match&) {
    chosen = true;
    return std::optional(w1);
  });
  CHECK(chosen);
  CHECK(tree.size() == 12);
}
