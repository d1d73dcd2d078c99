// Bytes that are not, or not quite, TOML.
#include <doctest/doctest.h>

#include "support.hpp"

namespace smg {
namespace {

TEST_CASE("an empty file, blank lines and comments are a configuration") {
  for (const char* toml : {"", "\n", "# nothing\n", "\xef\xbb\xbf", "\r\n", "[server]\n"}) {
    CAPTURE(toml);
    CHECK(verdict(toml) == "ok");
  }
}

TEST_CASE("a byte order mark and CRLF change nothing") {
  const auto config = load("\xef\xbb\xbf[server]\r\nport = 81\r\n");
  REQUIRE(config);
  CHECK(config.value->server.port == 81);
  CHECK(verdict("\xef\xbb\xbf[server]\r\nport = 0\r\n") ==
        "x.toml:2: [server] port = 0: Must be > 0\n");
}

TEST_CASE("UTF-16 is refused by name") {
  using namespace std::string_view_literals;
  const std::string text = "x.toml:1:1: the file is UTF-16; TOML is UTF-8, save it as that\n";
  CHECK(verdict("\xff\xfe[\0s\0]\0"sv) == text);
  CHECK(verdict("\xfe\xff\0[\0s\0]"sv) == text);
}

TEST_CASE("a zero byte is found with its place") {
  using namespace std::string_view_literals;
  CHECK(verdict("[server]\nport\0 = 1\n"sv) ==
        "x.toml:2:5: contains a zero byte; this is not a text file\n");
}

TEST_CASE("bytes that are not UTF-8 are refused with their place") {
  const auto text = verdict("[server]\nhost = \"\xc3\x28\"\n");
  CHECK(text.starts_with("x.toml:2:"));
  CHECK(text.find("utf-8") != std::string::npos);
}

TEST_CASE("broken TOML is refused with line and column") {
  CHECK(verdict("[server]\nport = 80\nport = 90\n").starts_with("x.toml:3:"));
  CHECK(verdict("[server]\n[server]\n").starts_with("x.toml:2:"));
  CHECK(verdict("[server\n").starts_with("x.toml:1:"));
  CHECK(verdict("[server]\nport = \n").starts_with("x.toml:2:"));
  CHECK(verdict("[server]\nport = 99999999999999999999\n").starts_with("x.toml:2:"));
  CHECK(verdict("[server]\nhost = \"a\n").starts_with("x.toml:2:"));
}

TEST_CASE("a secret in broken TOML does not reach the message") {
  for (const char* toml : {"[[worker]]\napi_key = s3cret\n", "[[worker]]\napi_key = \"s3cret\n",
                           "[[worker]]\napi_key = 's3cret\n", "[[worker]]\napi_key \"s3cret\"\n",
                           "[[worker]]\napi_key = \"s3cret\"\napi_key = \"s3cret\"\n"}) {
    CAPTURE(toml);
    const auto text = verdict(toml);
    CHECK(text != "ok");
    CHECK(text.find("s3cret") == std::string::npos);
  }
}

TEST_CASE("nesting without end is refused, not followed") {
  std::string deep = "[a";
  for (int i = 0; i < 100'000; ++i) deep += ".a";
  CHECK(verdict(deep + "]\n").find("more than 2000 dots in one line") != std::string::npos);
  CHECK(verdict("a = " + std::string(100'000, '[')).find("x.toml:1:") == 0);
  std::string allowed = "[a";
  for (int i = 0; i < 1999; ++i) allowed += ".a";
  CHECK(verdict(allowed + "]\n") == "x.toml:1: [a]: unknown section\n");
}

TEST_CASE("a file beyond the limit is refused") {
  const std::string at_limit = "#" + std::string(kMaxDocument - 1, 'x');
  CHECK(verdict(at_limit) == "ok");
  CHECK(verdict(at_limit + "x") == "x.toml:1:1: the file has more than 1048576 bytes\n");
}

}  // namespace
}  // namespace smg
