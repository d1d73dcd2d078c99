#include "cache_boundaries.hpp"

#include <doctest/doctest.h>

#include <string>

using smg::parse_cache_boundaries;
using List = std::vector<std::uint32_t>;

TEST_CASE("boundaries are a comma list, blanks allowed") {
  CHECK(parse_cache_boundaries("") == List{});
  CHECK(parse_cache_boundaries("  ") == List{});
  CHECK(parse_cache_boundaries("4") == List{4});
  CHECK(parse_cache_boundaries("4,8") == List{4, 8});
  CHECK(parse_cache_boundaries(" 1024 , 4096,4294967295 ") == List{1024, 4096, 4294967295});
}

TEST_CASE("boundaries that are no ascending integers above 0 are refused by name") {
  const auto refusal = [](std::string_view list) -> std::string {
    try {
      parse_cache_boundaries(list);
    } catch (const smg::Error& error) {
      CHECK(error.status() == SMG_E_INVALID);
      return error.what();
    }
    return "";
  };
  CHECK(refusal("8,4") ==
        "cache_boundaries = \"8,4\": the item \"4\" is wrong, they must be integers from 1 to "
        "4294967295, each above the one before it");
  for (const auto& [list, item] :
       {std::pair("0", "\"0\""), std::pair("4,4", "\"4\""), std::pair("4,,8", "\"\""),
        std::pair("4,", "\"\""), std::pair(",", "\"\""), std::pair("4,x", "\"x\""),
        std::pair("4,8k", "\"8k\""), std::pair("-1", "\"-1\""), std::pair("+1", "\"+1\""),
        std::pair("1 2", "\"1 2\""), std::pair("4294967296", "\"4294967296\"")}) {
    CHECK(refusal(list).find(std::string("the item ") + item) != std::string::npos);
  }
}
