// Who is named, who is booked, and that those who left are gone.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "support.hpp"

namespace {

using namespace smg::prefix_tree;
using namespace smg::prefix_tree::test;

constexpr Tenant w1{0, 1};
constexpr Tenant w2{1, 1};

}  // namespace

TEST_CASE("a tenant that was not added, or is another generation, holds nothing") {
  StringTree tree;
  tree.add_tenant(w1);
  tree.insert("text", w2);
  tree.insert("text", {0, 2});
  tree.insert("text", {0, 0});
  CHECK(tree.size() == 0);
  CHECK(tree.size({0, 2}) == 0);
  CHECK(tree.recount().nodes == 0);
  CHECK(tree.tenant_count() == 1);
}

TEST_CASE("removal leaves no trace, of shared nodes either") {
  StringTree tree;
  tree.add_tenant(w1);
  tree.add_tenant(w2);
  tree.insert("shared beginning, one end", w1);
  tree.insert("shared beginning, other end", w2);
  tree.insert("own", w1);
  tree.remove_tenant(w1);
  CHECK(tree.size(w1) == 0);
  CHECK(tree.size() == 27);
  CHECK(names_only(look_up(tree, "shared"), {w2}));
  CHECK(look_up(tree, "own").matched == 0);
  CHECK(tree.tenant_count() == 1);
  CHECK(books_are_right(tree, {w1, w2}));
  tree.remove_tenant(w1);
  tree.remove_tenant(w2);
  CHECK(tree.recount().nodes == 0);
}

TEST_CASE("a late insert does not bring a removed tenant back nor book on its successor") {
  StringTree tree;
  constexpr Tenant successor{0, 2};
  tree.add_tenant(w1);
  tree.match_and_insert("text", anyone, kNoTouch, [&](const Match&) {
    tree.remove_tenant(w1);
    tree.add_tenant(successor);
    return std::optional(w1);
  });
  CHECK(tree.size() == 0);
  tree.insert("text", successor);
  CHECK(names_only(look_up(tree, "text"), {successor}));
}

TEST_CASE("a slot that is given to another generation forgets the former one") {
  StringTree tree;
  tree.add_tenant(w1);
  tree.insert("text", w1);
  tree.add_tenant({0, 7});
  CHECK(tree.size() == 0);
  CHECK(look_up(tree, "text").matched == 0);
  CHECK(tree.tenant_count() == 1);
}

TEST_CASE("a node is counted once for a tenant, however often it is sent there") {
  StringTree tree;
  tree.add_tenant(w1);
  for (int i = 0; i < 100; ++i) tree.insert("hello", w1);
  CHECK(tree.size() == 5);
  tree.insert("help", w1);
  for (int i = 0; i < 100; ++i) tree.insert("hello", w1);
  CHECK(tree.size(w1) == 6);
  CHECK(tree.size() == 6);
}

TEST_CASE("an insert of a beginning ends inside a label and adds nothing for who holds it") {
  StringTree tree;
  tree.add_tenant(w1);
  tree.add_tenant(w2);
  tree.insert("abcdef", w1);
  tree.insert("abc", w1);
  CHECK(tree.size() == 6);
  tree.insert("ab", w2);
  CHECK(tree.size() == 8);
  CHECK(names_only(look_up(tree, "ab"), {w1, w2}));
  CHECK(names_only(look_up(tree, "abc"), {w1}));
}

TEST_CASE("choose decides whether something is stored, and sees the tree as it was") {
  StringTree tree;
  tree.add_tenant(w1);
  const auto none = tree.match_and_insert("text", anyone, kNoTouch,
                                          [](const Match&) { return std::optional<Tenant>(); });
  CHECK_FALSE(none.has_value());
  CHECK(tree.size() == 0);
  const auto chosen = tree.match_and_insert("text", anyone, kNoTouch, [](const Match& found) {
    CHECK(found.matched == 0);
    CHECK(found.input == 4);
    return std::optional(w1);
  });
  CHECK(chosen == w1);
  CHECK(tree.size() == 4);
}

TEST_CASE("choose may use the same tree") {
  StringTree tree;
  tree.add_tenant(w1);
  tree.add_tenant(w2);
  tree.insert("abcdef", w1);
  tree.match_and_insert("abcxyz", anyone, kNoTouch, [&](const Match& found) {
    CHECK(found.matched == 3);
    tree.insert("abq", w2);    // splits what was matched
    tree.insert("abcxy", w2);  // and knows more than was matched
    return std::optional(w1);
  });
  CHECK(names_only(look_up(tree, "abcxyz"), {w1}));
  CHECK(names_only(look_up(tree, "abcxy"), {w1, w2}));
  CHECK(tree.size(w1) == 9);
  CHECK(tree.size(w2) == 6);
  CHECK(books_are_right(tree, {w1, w2}));
}

TEST_CASE("what was matched may be evicted before the insert") {
  StringTree tree;
  tree.add_tenant(w1);
  tree.insert("abcdef", w1);
  tree.match_and_insert("abcdefgh", anyone, kNoTouch, [&](const Match&) {
    tree.evict(0);
    return std::optional(w1);
  });
  CHECK(tree.size() == 8);
  CHECK(tree.recount().nodes == 1);
}

TEST_CASE("only those are named whom the caller accepts") {
  StringTree tree;
  tree.add_tenant(w1);
  tree.add_tenant(w2);
  tree.insert("text", w1);
  tree.insert("text", w2);
  const auto found = [&](auto accept) { return tree.match("text", accept, kNoTouch); };
  CHECK(names_only(found([](Tenant tenant) { return tenant == w2; }), {w2}));
  CHECK(names_only(found([](Tenant) { return false; }), {}));
  CHECK(found([](Tenant) { return false; }).matched == 4);
}

TEST_CASE("of many holders eight are named, each as often as the others") {
  constexpr uint32_t kHolders = 100;
  constexpr int kRounds = 20'000;
  StringTree tree;
  for (uint32_t slot = 0; slot < kHolders; ++slot) {
    tree.add_tenant({slot, 1});
    tree.insert("text", {slot, 1});
  }
  CHECK(tree.size() == kHolders * 4);
  Numbers numbers(3);
  std::map<uint32_t, int> named;
  for (int i = 0; i < kRounds; ++i) {
    const Match found = tree.match("text", anyone, numbers.next());
    REQUIRE(found.tenant_count == Match::kMaxTenants);
    for (const Tenant tenant : found.holders()) ++named[tenant.slot];
  }
  CHECK(named.size() == kHolders);
  for (const auto& [slot, times] : named) {
    CHECK(times > kRounds * 8 / kHolders * 8 / 10);
    CHECK(times < kRounds * 8 / kHolders * 12 / 10);
  }
}

TEST_CASE("the last few of many holders are found") {
  StringTree tree;
  for (uint32_t slot = 0; slot < 1000; ++slot) {
    tree.add_tenant({slot, 1});
    tree.insert("text", {slot, 1});
  }
  const auto odd = [](Tenant tenant) { return tenant.slot >= 997; };
  CHECK(names_only(tree.match("text", odd, ~uint64_t{0}), {{997, 1}, {998, 1}, {999, 1}}));
  for (uint32_t slot = 0; slot < 999; ++slot) tree.remove_tenant({slot, 1});
  CHECK(names_only(look_up(tree, "text"), {{999, 1}}));
  CHECK(tree.size() == 4);
}

TEST_CASE("a match with a touch keeps what it found from being the next to go") {
  StringTree tree;
  tree.add_tenant(w1);
  tree.insert("aaaa", w1);
  tree.insert("bbbb", w1);
  tree.match("aaaa", anyone, kNoTouch);
  tree.match("bbbb", anyone, kTouch);
  tree.match("aaaa", anyone, kTouch);
  tree.evict(4);
  CHECK(look_up(tree, "aaaa").matched == 4);
  CHECK(look_up(tree, "bbbb").matched == 0);
}

TEST_CASE("a node with many children finds each, and loses them again") {
  constexpr uint32_t kChildren = 100'000;
  TokenTree tree(1);
  tree.add_tenant(w1);
  for (uint32_t i = 0; i < kChildren; ++i) tree.insert(std::array{7u, 8u, i}, w1);
  CHECK(tree.size() == kChildren + 2);
  // Cut in two, the node keeps its children.
  tree.insert(std::array{7u, 9u}, w1);
  for (uint32_t i = 0; i < kChildren; ++i) {
    REQUIRE(look_up(tree, std::array{7u, 8u, i}).matched == 3);
  }
  CHECK(look_up(tree, std::array{7u, 8u, kChildren}).matched == 2);
  CHECK(tree.recount().nodes == kChildren + 3);
  CHECK(tree.evict(kChildren / 2) == kChildren / 2 + 3);
  CHECK(look_up(tree, std::array{7u, 8u, 0u}).matched == 2);
  CHECK(look_up(tree, std::array{7u, 8u, kChildren - 1}).matched == 3);
  CHECK(books_are_right(tree, {w1}));
  CHECK(tree.evict(0) == kChildren / 2);
  CHECK(tree.recount().nodes == 0);
}

TEST_CASE("a very deep tree is evicted and removed without recursion") {
  constexpr uint32_t kDepth = 20'000;
  TokenTree tree(1);
  tree.add_tenant(w1);
  tree.add_tenant(w2);
  std::vector<uint32_t> tokens;
  for (uint32_t i = 0; i < kDepth; ++i) {
    tokens.push_back(i);
    if (i % 10 == 0) tree.insert(tokens, i % 20 == 0 ? w1 : w2);
  }
  CHECK(tree.recount().faults == 0);
  tree.remove_tenant(w1);
  CHECK(tree.size() == tree.size(w2));
  tree.evict(100);
  CHECK(tree.size() <= 100);
  CHECK(books_are_right(tree, {w1, w2}));
}
