#include "host/routing/request/routing_hints.hpp"

#include <doctest/doctest.h>

#include <string>

namespace smg {
namespace {

using Ids = std::vector<std::uint32_t>;

Ids parsed(std::string_view value) {
  Ids ids;
  CHECK(parse_routing_tokens(value, ids));
  return ids;
}

}  // namespace

TEST_CASE("a token hint lists decimal ids") {
  CHECK(parsed("1") == Ids{1});
  CHECK(parsed("0,22,4294967295") == Ids{0, 22, 4294967295});
  CHECK(parsed(" 1 ,\t2 , 3") == Ids{1, 2, 3});
}

TEST_CASE("one wrong item spoils the whole hint") {
  for (const std::string_view value : {"", " ", ",", "1,", ",1", "1,,2", "1 2", "-1", "+1", "1.0",
                                       "0x1", "a", "1,b", "4294967296", "1;2"}) {
    CAPTURE(value);
    Ids ids = {9};
    CHECK_FALSE(parse_routing_tokens(value, ids));
    CHECK(ids == Ids{9});
  }
}

TEST_CASE("a token hint is bounded in ids and bytes") {
  std::string list = "1";
  for (std::size_t i = 1; i < kMaxHintTokens; ++i) list += ",1";
  CHECK(parsed(list).size() == kMaxHintTokens);
  Ids ids;
  CHECK_FALSE(parse_routing_tokens(list + ",1", ids));
  std::string wide = "1";
  wide.insert(0, kMaxHintBytes - 1, ' ');
  CHECK(parsed(wide) == Ids{1});
  CHECK_FALSE(parse_routing_tokens(" " + wide, ids));
  CHECK(ids.empty());
}

TEST_CASE("a routing key is 1 to 128 bytes of UTF-8") {
  CHECK(is_routing_key("user-1"));
  CHECK(is_routing_key("caf\u00e9"));
  CHECK(is_routing_key(std::string(128, 'x')));
  CHECK_FALSE(is_routing_key(""));
  CHECK_FALSE(is_routing_key(std::string(129, 'x')));
  CHECK_FALSE(is_routing_key("caf\xe9"));
}

}  // namespace smg
