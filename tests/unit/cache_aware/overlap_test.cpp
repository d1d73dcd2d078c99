// E3 and E4 of the policies page: decay and temperature.
#include "overlap.hpp"

#include <doctest/doctest.h>

#include <array>
#include <set>

#include "fake_pool.hpp"

using namespace cache_aware;

namespace {

// The share of each candidate over many random numbers.
std::vector<double> shares(const std::vector<double>& scores, double temperature) {
  std::vector<Candidate> candidates;
  for (uint32_t i = 0; i < scores.size(); ++i) candidates.push_back({i, scores[i]});
  std::vector<double> share(scores.size(), 0);
  constexpr uint64_t kDraws = 100'000;
  std::vector<uint32_t> group;
  for (uint64_t i = 0; i < kDraws; ++i) {
    pick_group(candidates, temperature, i * 0x9e3779b97f4a7c15u, group);
    for (const uint32_t index : group) share[index] += 1.0 / kDraws;
  }
  return share;
}

void check_shares(const std::vector<double>& scores, double temperature,
                  const std::vector<double>& expected) {
  const auto share = shares(scores, temperature);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(share[i] == doctest::Approx(expected[i]).epsilon(0.01));
  }
}

}  // namespace

TEST_CASE("policies E3: decay by the queue above the shortest, in parts of the request") {
  smg::test::FakeFleet fleet(3);
  const auto pool = fleet.pool();
  fleet.report(0, 0, 1024, 1000, 0);
  fleet.report(1, 0, 0, 1000, 0);
  const auto decayed = [&](double decay, double blocks) {
    std::vector<Candidate> candidates{{0, 8}, {1, 6}, {2, 7}};
    decay_scores(candidates, smg::Pool(*pool->raw()), decay, 16, blocks);
    CHECK(candidates[1].score == 6);
    CHECK(candidates[2].score == 7);  // has no report
    return candidates[0].score;
  };
  CHECK(decayed(1.0, 8) == doctest::Approx(0.889).epsilon(0.001));
  CHECK(decayed(0.05, 8) == doctest::Approx(5.714).epsilon(0.001));
  CHECK(decayed(1.0, 64) == doctest::Approx(4.0));
}

TEST_CASE("policies E4: shares by temperature") {
  check_shares({10, 5, 1}, 1.0, {.515, .2955, .1895});
  check_shares({10, 5, 1}, 0.2, {.9355, .0582, .0063});
  check_shares({10, 9}, 0.5, {.8808, .1192});
  check_shares({100, 90}, 0.5, {.8808, .1192});
}

TEST_CASE("policies E4: equal scores are one group, and so are all with the score drawn") {
  check_shares({3, 3, 3}, 0.5, {1, 1, 1});
  const auto share = shares({4, 2, 4}, 0.5);
  CHECK(share[0] == share[2]);
  CHECK(share[0] + share[1] == doctest::Approx(1.0));
}

TEST_CASE("without a temperature the highest scores are the group") {
  std::vector<uint32_t> group;
  pick_group({{5, 2}, {6, 3}, {7, 3}}, 0, 1, group);
  CHECK(group == std::vector<uint32_t>{6, 7});
  pick_group({}, 0, 1, group);
  CHECK(group.empty());
}

TEST_CASE("the last candidate is drawn by the highest random number") {
  std::vector<uint32_t> group;
  pick_group({{0, 10}, {1, 5}}, 1e-9, ~uint64_t{0}, group);
  CHECK(group.size() == 1);
}
