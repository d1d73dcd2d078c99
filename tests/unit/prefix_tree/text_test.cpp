// Text: what a character is, and that nothing is cut inside one.
#include <doctest/doctest.h>

#include <string>

#include "support.hpp"

namespace {

using namespace smg::prefix_tree;
using namespace smg::prefix_tree::test;

constexpr Tenant w1{0, 1};
constexpr TextKey kText;

// Character by character, as the definition says.
uint64_t units_one_by_one(std::string_view text) {
  uint64_t units = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    units += i == 0 || (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80 ? 1 : 0;
  }
  return units;
}

std::string any_bytes(Numbers& numbers, std::size_t size) {
  static const std::string pieces[] = {"a",    "b",    "é",    "字",      "😀",
                                       "\x80", "\xbf", "\xc3", "\xf0\x9f"};
  std::string text;
  while (text.size() < size) text += pieces[numbers.below(std::size(pieces))];
  return text;
}

}  // namespace

TEST_CASE("characters are counted in texts of any length and alignment") {
  Numbers numbers(1);
  for (std::size_t size = 0; size < 300; ++size) {
    const std::string text = any_bytes(numbers, size);
    for (std::size_t from = 0; from < std::min<std::size_t>(text.size(), 9); ++from) {
      const std::string_view part = std::string_view(text).substr(from);
      REQUIRE(kText.units(part) == units_one_by_one(part));
    }
  }
  CHECK(kText.units(std::string(100'000, '\x80')) == 1);
  CHECK(kText.units(std::string(100'000, 'x')) == 100'000);
}

TEST_CASE("a common beginning ends at the first difference, whatever its place") {
  for (const std::size_t size : {1u, 7u, 8u, 9u, 511u, 512u, 513u, 2000u}) {
    const std::string text(size, 'x');
    CHECK(kText.common(text, text) == size);
    for (std::size_t at = 0; at < size; ++at) {
      std::string other = text;
      other[at] = 'y';
      REQUIRE(kText.common(text, other) == at);
    }
  }
}

TEST_CASE("a common beginning does not end inside a character") {
  CHECK(kText.common("aé", "aè") == 1);
  CHECK(kText.common("aé", "a\xc3") == 1);
  CHECK(kText.common("a\xc3", "aé") == 1);
  CHECK(kText.common("字", "孖") == 0);
  CHECK(kText.common("😀x", "😀y") == 4);
}

TEST_CASE("characters that begin with the same byte are different children") {
  StringTree tree;
  tree.add_tenant(w1);
  tree.insert("é", w1);
  tree.insert("è", w1);
  tree.insert("😀", w1);
  tree.insert("😁", w1);
  CHECK(tree.size() == 4);
  CHECK(look_up(tree, "è").matched == 1);
  CHECK(look_up(tree, "😁!").matched == 1);
  CHECK(look_up(tree, "ê").matched == 0);
}

TEST_CASE("a text that ends inside a character is told from the whole one") {
  StringTree tree;
  tree.add_tenant(w1);
  tree.insert("h\xc3", w1);
  tree.insert("hé", w1);
  CHECK(tree.size() == 3);
  CHECK(look_up(tree, "h\xc3").matched == 2);
  CHECK(look_up(tree, "héllo").matched == 2);
  CHECK(tree.recount().faults == 0);
}

TEST_CASE("bytes that are no UTF-8 are matched as they are") {
  Numbers numbers(2);
  StringTree tree;
  tree.add_tenant(w1);
  for (int i = 0; i < 3000; ++i) {
    const std::string text = any_bytes(numbers, numbers.below(40));
    tree.insert(text, w1);
    const Match found = look_up(tree, text);
    REQUIRE(found.input == units_one_by_one(text));
    REQUIRE(found.matched == found.input);
  }
  CHECK(books_are_right(tree, {w1}));
  CHECK(tree.evict(0) > 0);
  CHECK(tree.recount().nodes == 0);
}

TEST_CASE("malformed characters that agree in what a key holds end the match") {
  const std::string shared = "\xc3" + std::string(20, '\x80');
  StringTree tree;
  tree.add_tenant(w1);
  tree.insert(shared + "\x81", w1);
  tree.insert(shared + "\x82", w1);
  CHECK(tree.size() == 1);
  CHECK(look_up(tree, shared + "\x81").matched == 1);
  CHECK(look_up(tree, shared + "\x82").matched == 0);
}

TEST_CASE("an empty text matches nothing and is not stored") {
  StringTree tree;
  tree.add_tenant(w1);
  tree.insert("", w1);
  tree.insert("a", w1);
  CHECK(tree.size() == 1);
  CHECK(look_up(tree, "").input == 0);
  CHECK(look_up(tree, "").tenant_count == 0);
}

TEST_CASE("texts that each end a little before the last one make no walk longer than 512 nodes") {
  constexpr Tenant kFirst{0, 1};
  constexpr Tenant kSecond{1, 1};
  StringTree tree;
  tree.add_tenant(kFirst);
  tree.add_tenant(kSecond);
  std::string text;
  for (int i = 0; i < 3000; ++i) text += static_cast<char>('a' + i * i % 26);
  for (std::size_t size = text.size(); size >= 1500; --size) {
    tree.insert(text.substr(0, size), kFirst);
  }
  CHECK(tree.size() == 3000);
  const auto anyone = [](Tenant) { return true; };
  const Match match = tree.match(text, anyone, 0);
  CHECK(match.matched == 1500 + 511);
  CHECK(match.input == 3000);
  CHECK(match.tenant_count == 1);
  tree.insert(text, kSecond);
  CHECK(tree.size(kSecond) == 1500 + 511);
  const Census census = tree.recount();
  CHECK(census.faults == 0);
  CHECK(census.total == tree.size());
  tree.evict(0);
  CHECK(tree.size() == 0);
  CHECK(tree.recount().nodes == 0);
}
