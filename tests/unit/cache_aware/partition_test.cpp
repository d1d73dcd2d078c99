#include "partition.hpp"

#include <doctest/doctest.h>

using namespace cache_aware;

TEST_CASE("a text's marker has 18 characters and is the namespace's own") {
  std::string room, other_room;
  const auto key = text_key("prompt", "tenant a", room);
  const auto other = text_key("prompt", "tenant b", other_room);
  CHECK(key.marker == 18);
  CHECK(key.key.size() == 18 + 6);
  CHECK(key.key.front() == '\x01');
  CHECK(key.key[17] == '\x01');
  CHECK(key.key.substr(18) == "prompt");
  CHECK(key.key.find_first_not_of("0123456789abcdef", 1) == 17);
  CHECK(key.key.substr(0, 18) != other.key.substr(0, 18));
}

TEST_CASE("no text without a namespace begins like a marker") {
  std::string room, forged_room;
  const std::string forged(text_key("prompt", "tenant a", room).key);
  const auto key = text_key(forged, "", forged_room);
  CHECK(key.marker == 0);
  CHECK(key.key == std::string_view(forged).substr(1));
  CHECK(text_key("\x01\x01\x01", "", room).key.empty());
  CHECK(text_key("plain", "", room).key == "plain");
}

TEST_CASE(
    "a token marker fills whole pages with ids that no prompt without a namespace begins with") {
  std::vector<uint32_t> room;
  const std::vector<uint32_t> prompt{1, 2, 3};
  for (const uint32_t page : {1u, 2u, 3u, 16u}) {
    const auto key = token_key(prompt, "tenant a", page, room);
    CHECK(key.marker == std::max(page, 2u));
    CHECK(key.marker % page == 0);
    CHECK(key.key.size() == key.marker + 3);
    for (std::size_t i = 0; i < key.marker; ++i) CHECK(key.key[i] >= 0x80000000u);
    for (std::size_t i = 2; i < key.marker; ++i) CHECK(key.key[i] == 0x80000000u);
    CHECK(key.key[key.marker] == 1);
    std::vector<uint32_t> unused;
    const std::vector<uint32_t> forged(key.key.begin(), key.key.end());
    const auto stripped = token_key(forged, "", page, unused);
    CHECK(std::vector<uint32_t>(stripped.key.begin(), stripped.key.end()) == prompt);
  }
}
