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
}

TEST_CASE("one wrong item spoils the whole hint") {
  for (const std::string_view value :
       {"", " ", ",", "1,", ",1", "1,,2", "1 2", "-1", "+1", "1.0", "0x1", "a", "1,b", "4294967296",
        "1;2", "1, 2", " 1", "1\t"}) {
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
  const std::string wide = std::string(kMaxHintBytes - 1, '0') + "1";
  CHECK(parsed(wide) == Ids{1});
  CHECK_FALSE(parse_routing_tokens("0" + wide, ids));
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

TEST_CASE("H6: turn and retry numbers do not belong to the key") {
  const auto strip = [](std::string_view key) { return without_lineage(key); };
  CHECK(strip("job_t3_r2") == "job");
  CHECK(strip("job_r2") == "job");
  CHECK(strip("job_r2_t3") == "job_r2");
  CHECK(strip("job_t1_t2") == "job_t1");
  CHECK(strip("_t1") == "_t1");
  CHECK(strip("_t1_r2") == "_t1_r2");
  for (const std::string_view whole : {"job_t", "job_T2", "job_t1x", "job", "_r", "r1", "", "5"}) {
    CHECK(strip(whole) == whole);
  }
}

TEST_CASE("a rid is a string or a list that begins with one") {
  const auto key = [](std::string_view json) {
    std::string out = "left over";
    const bool found = read_rid_key(json, out);
    CHECK(found == !out.empty());
    return out;
  };
  CHECK(key(R"("job_t3_r2")") == "job");
  CHECK(key(R"( "a\"b\\" )") == "a\"b\\");
  CHECK(key(R"("\u00e9")") == "\u00e9");
  CHECK(key(R"(["first_r1", "second"])") == "first");
  CHECK(key(R"([ "first" ])") == "first");
  for (const std::string_view none :
       {"", "\"\"", "null", "7", "[]", "[7,\"a\"]", "[[\"a\"]]", "{}", R"("\ud800")", "\"open"}) {
    CAPTURE(none);
    CHECK(key(none).empty());
  }
  CHECK(key("\"" + std::string(128, 'x') + "\"") == std::string(128, 'x'));
  CHECK(key("\"" + std::string(129, 'x') + "\"").empty());
  CHECK(key("\"" + std::string(126, 'x') + "_t1_r2\"") == std::string(126, 'x'));
}

}  // namespace smg
