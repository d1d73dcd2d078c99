#include "host/metrics/utf8.hpp"

#include <doctest/doctest.h>

using smg::valid_utf8;

TEST_CASE("valid UTF-8 is kept as it is") {
  const std::string all = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  CHECK(valid_utf8(all) == all);
}

TEST_CASE("each broken byte becomes a replacement character") {
  const std::string mark = "\xef\xbf\xbd";
  CHECK(valid_utf8("a\xff"
                   "b") == "a" + mark + "b");
  CHECK(valid_utf8("\xc3") == mark);                                   // cut off
  CHECK(valid_utf8("\xc0\xaf") == mark + mark);                        // overlong
  CHECK(valid_utf8("\xed\xa0\x80") == mark + mark + mark);             // surrogate
  CHECK(valid_utf8("\xf5\x80\x80\x80") == mark + mark + mark + mark);  // beyond Unicode
}

TEST_CASE("text is cut in front of the character that does not fit") {
  CHECK(valid_utf8("ab\xc3\xa9", 3) == "ab");
  CHECK(valid_utf8("ab\xc3\xa9", 4) == "ab\xc3\xa9");
}
