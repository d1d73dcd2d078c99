#include "routing_headers.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace consistent_hashing;

TEST_CASE("UTF-8 is well-formed or it is none") {
  for (const std::string& good :
       {std::string("a"), std::string("\x7f"), std::string("\xc2\x80"), std::string("\xdf\xbf"),
        std::string("\xe0\xa0\x80"), std::string("\xed\x9f\xbf"), std::string("\xee\x80\x80"),
        std::string("\xef\xbf\xbf"), std::string("\xf0\x90\x80\x80"),
        std::string("\xf4\x8f\xbf\xbf"), std::string("a\xc3\xa9z")}) {
    CHECK(is_utf8(good));
    if (good.size() == 1 || good.back() == 'z') continue;
    const std::string cut = good.substr(0, good.size() - 1);
    CHECK_FALSE(is_utf8(cut));
    CHECK_FALSE(is_utf8(cut + "z"));
  }
  for (const std::string& bad :
       {std::string("\x80"), std::string("\xbf"), std::string("\xc0\xaf"), std::string("\xc1\xbf"),
        std::string("\xe0\x9f\xbf"), std::string("\xed\xa0\x80"), std::string("\xf0\x8f\xbf\xbf"),
        std::string("\xf4\x90\x80\x80"), std::string("\xf5\x80\x80\x80"), std::string("\xff"),
        std::string("\xe2\x28\xa1"), std::string("\xe2\x82\xc0"), std::string("ok\xc3")}) {
    CHECK_FALSE(is_utf8(bad));
  }
}

TEST_CASE("an index is decimal, with one plus at most") {
  CHECK(parse_index("0") == 0u);
  CHECK(parse_index("+7") == 7u);
  CHECK(parse_index("007") == 7u);
  CHECK(parse_index("4294967295") == 4294967295u);
  for (const char* bad : {"", "+", "++1", "-0", "1.0", "0x1", "1 ", "4294967296", "one"}) {
    CHECK_FALSE(parse_index(bad));
  }
}
