#include "host/routing/request/json_string.hpp"

#include <doctest/doctest.h>

#include <boost/json.hpp>
#include <random>

#include "host/routing/request/body_keys.hpp"

namespace smg {

TEST_CASE("unescaping agrees with a full parser on random escapes") {
  std::mt19937 random(7);
  const char* const parts[] = {"a",
                               "\\n",
                               "\\\"",
                               "\\\\",
                               "\\/",
                               "\\b",
                               "\\f",
                               "\\r",
                               "\\t",
                               "\\u0041",
                               "\\u00e9",
                               "\\uFFFD",
                               "\\ud83d\\ude00",
                               "\\uD83D",
                               "\\ude00",
                               "\\u12",
                               "\\x",
                               "\xc3\xa9",
                               "\\u00e9x",
                               "\\u0000",
                               "longer text without escapes",
                               "\\ud800\\u0041",
                               "\\udbff\\udfff",
                               "\\uzzzz"};
  int good = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string raw;
    for (auto n = random() % 5; n > 0; --n) raw += parts[random() % std::size(parts)];
    boost::json::error_code error;
    const auto parsed = boost::json::parse("\"" + raw + "\"", error);
    std::string out = "before:";
    CAPTURE(raw);
    REQUIRE(append_unescaped(out, raw) == !error);
    if (error) continue;
    ++good;
    REQUIRE(out == "before:" + std::string(parsed.as_string().c_str(), parsed.as_string().size()));
  }
  CHECK(good > 1000);
}

TEST_CASE("quoting is undone by unescaping") {
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  all += "\u00e9\U0001F600";
  std::string quoted;
  append_quoted(quoted, all);
  CHECK(quoted.find('\n') == std::string::npos);
  std::string back;
  CHECK(append_unescaped(back, std::string_view(quoted).substr(1, quoted.size() - 2)));
  CHECK(back == all);
}

TEST_CASE("every known key is found by its name, and no other") {
  for (unsigned i = 0; i < kKnownKeys; ++i) {
    const auto key = static_cast<BodyKey>(i);
    const std::string name(name_of(key));
    CHECK(find_body_key(name) == key);
    CHECK(find_body_key(name + "x") == BodyKey::none);
    CHECK(find_body_key("x" + name) == BodyKey::none);
    CHECK(member_start(key) == "\"" + name + "\":");
  }
  CHECK(name_of(BodyKey::separate_reasoning) == "separate_reasoning");
  CHECK(name_of(BodyKey::backend_url) == "backend_url");
  CHECK(name_of(BodyKey::kv_transfer_params) == "kv_transfer_params");
  CHECK(name_of(BodyKey::rid) == "rid");
  CHECK(find_body_key("") == BodyKey::none);
  CHECK(find_body_key(std::string(1000, 'x')) == BodyKey::none);
}

}  // namespace smg
