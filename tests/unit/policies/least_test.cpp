#include "smg/cpp/least.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "defaults.hpp"

TEST_CASE("least: the lowest value wins wherever it stands") {
  for (std::uint32_t lowest = 0; lowest < 5; ++lowest) {
    smg::Least<double> least(lowest);
    CHECK_FALSE(least.any());
    for (std::uint32_t i = 0; i < 5; ++i) least.offer(i + 10, i == lowest ? -1.5 : i);
    CHECK(least.any());
    CHECK(least.index() == lowest + 10);
    CHECK(least.value() == -1.5);
  }
}

TEST_CASE("least: equal values are equally likely") {
  std::vector<int> picks(8);
  std::uint64_t state = 3;
  constexpr int kRounds = 70'000;
  for (int round = 0; round < kRounds; ++round) {
    smg::Least<int> least(smg::test::next_random(state));
    for (std::uint32_t i = 0; i < 8; ++i) least.offer(i, i == 2 ? 9 : 4);
    ++picks[least.index()];
  }
  CHECK(picks[2] == 0);
  double chi_square = 0;
  for (const int index : {0, 1, 3, 4, 5, 6, 7}) {
    const double off = picks[static_cast<std::size_t>(index)] - kRounds / 7.0;
    chi_square += off * off / (kRounds / 7.0);
  }
  CHECK(chi_square < 22.5);  // 6 degrees of freedom: exceeded once in a thousand seeds
}
