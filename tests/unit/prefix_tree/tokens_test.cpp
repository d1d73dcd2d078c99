// Tokens: whole pages, found by a digest and compared.
#include <doctest/doctest.h>

#include <vector>

#include "support.hpp"

namespace {

using namespace smg::prefix_tree;
using namespace smg::prefix_tree::test;

using Tokens = std::vector<uint32_t>;

constexpr Tenant w1{0, 1};
constexpr Tenant w2{1, 1};

// Two pages with the same digest. It is linear, so a short vector of a lattice is the difference.
const Tokens kPage{100000, 100000, 100000, 100000};
const Tokens kTwin{117317, 91960, 136694, 75321};

struct Pages : TokenTree {
  explicit Pages(uint32_t page_size) : TokenTree(page_size) {
    add_tenant(w1);
    add_tenant(w2);
  }
};

}  // namespace

TEST_CASE("a page differs in any of its tokens") {
  Pages tree(4);
  tree.insert(Tokens{1, 2, 3, 4, 5, 6, 7, 8}, w1);
  for (std::size_t at = 0; at < 8; ++at) {
    Tokens other{1, 2, 3, 4, 5, 6, 7, 8};
    other[at] = 99;
    CHECK(look_up(tree, other).matched == (at < 4 ? 0 : 4));
  }
}

TEST_CASE("what does not fill a page is not stored but counts as input") {
  Pages tree(4);
  tree.insert(Tokens{1, 2, 3, 4, 5, 6}, w1);
  CHECK(tree.size() == 4);
  const Match found = look_up(tree, Tokens{1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(found.matched == 4);
  CHECK(found.input == 9);
}

TEST_CASE("a node that stays for another holder lets the one above go in the same run") {
  Pages tree(2);
  tree.insert(Tokens{1, 1, 2, 2}, w1);
  tree.insert(Tokens{1, 1, 3, 3}, w2);
  tree.insert(Tokens{1, 1, 2, 2}, w2);
  CHECK(tree.size() == 10);
  CHECK(tree.evict(7) == 4);  // of w1 the page 2, which w2 keeps, and with it the page 1
  CHECK(tree.size(w1) == 0);
  CHECK(tree.size(w2) == 6);
}

TEST_CASE("an insert of what is known already marks it as used") {
  Pages tree(1);
  tree.insert(Tokens{1, 2}, w1);
  tree.insert(Tokens{9}, w1);
  tree.insert(Tokens{1, 2}, w1);
  CHECK(tree.evict(2) == 1);
  CHECK(look_up(tree, Tokens{1, 2}).matched == 2);
}

TEST_CASE("a page size of one works, and none is taken for one") {
  for (const uint32_t page_size : {0u, 1u}) {
    Pages tree(page_size);
    tree.insert(Tokens{1, 2, 3}, w1);
    CHECK(look_up(tree, Tokens{1, 2, 4}).matched == 2);
  }
}

TEST_CASE("another page with the same digest is no match and hides nothing") {
  const TokenKey key(4);
  REQUIRE(key.first(kPage) == key.first(kTwin));
  Pages tree(4);
  tree.insert(kPage, w1);
  tree.insert(kTwin, w2);
  CHECK(look_up(tree, kTwin).matched == 0);
  CHECK(names_only(look_up(tree, kPage), {w1}));
  CHECK(tree.size() == 4);
  // Behind a page that both share, w2 becomes a holder of that one.
  Tokens first{7, 7, 7, 7}, second = first;
  first.insert(first.end(), kPage.begin(), kPage.end());
  second.insert(second.end(), kTwin.begin(), kTwin.end());
  tree.insert(first, w1);
  tree.insert(second, w2);
  CHECK(look_up(tree, second).matched == 4);
  CHECK(tree.size(w2) == 4);
  CHECK(books_are_right(tree, {w1, w2}));
}
