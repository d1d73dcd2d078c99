#include <doctest/doctest.h>

#include <initializer_list>

#include "smg/cpp/random.hpp"

TEST_CASE("uniform stays below its bound at both ends of the range") {
  for (const std::uint32_t bound : {1u, 2u, 3u, 7u, 1000u, 0x80000001u, 0xffffffffu}) {
    CHECK(smg::uniform(0xffffffffffffffffu, bound) == bound - 1);
    CHECK(smg::uniform(0x123456789abcdef0u, bound) < bound);
    CHECK(smg::uniform(0, bound) < bound);
  }
}

TEST_CASE("uniform draws again for bits that would favour a result") {
  // 2^64 mod 100 is 16: products whose low half is below that are one too many for their result.
  CHECK(smg::uniform(0, 100) == 7);  // the next draw's
  CHECK(smg::uniform(0, 4) == 0);    // a power of two favours none
}
