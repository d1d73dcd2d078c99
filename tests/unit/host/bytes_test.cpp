#include "host/base/bytes.hpp"

#include <doctest/doctest.h>

#include <string>

#include "host/base/views.hpp"

using namespace smg;

TEST_CASE("bytes keep their order through any mix of append and consume") {
  Bytes bytes;
  std::string model;
  unsigned seed = 7;
  for (int round = 0; round < 5000; ++round) {
    seed = seed * 1664525u + 1013904223u;
    if (seed >> 31 == 0) {
      const std::string more((seed >> 8) % 700, static_cast<char>('a' + round % 26));
      bytes.append(more);
      model += more;
    } else {
      const std::size_t count = model.empty() ? 0 : (seed >> 8) % (model.size() + 1);
      bytes.consume(count);
      model.erase(0, count);
    }
    REQUIRE(bytes.view() == model);
  }
}

TEST_CASE("bytes hold little more memory than content, and none after release") {
  Bytes bytes;
  CHECK(bytes.capacity() == 0);
  bytes.append(std::string(20'000, 'x'));
  CHECK(bytes.capacity() <= 20'000 + 1024);
  bytes.release();
  CHECK(bytes.capacity() == 0);
}

TEST_CASE("names are compared without regard to ASCII case only") {
  CHECK(equals_ignoring_case("Content-Type", "content-TYPE"));
  CHECK_FALSE(equals_ignoring_case("a", "ab"));
  CHECK_FALSE(equals_ignoring_case("@", "`"));
  CHECK_FALSE(equals_ignoring_case("[", "{"));
}
