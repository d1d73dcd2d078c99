#include "worker_set.hpp"

#include <doctest/doctest.h>

#include <random>
#include <set>

using namespace cache_aware;

TEST_CASE("a set of workers is the same in each of its forms") {
  std::mt19937 random(3);
  WorkerSet set;
  std::set<uint32_t> model;
  for (int step = 0; step < 20000; ++step) {
    // Grows to hundreds, shrinks to nothing, grows again.
    const bool grows = (step / 2500) % 2 == 0;
    const auto slot = static_cast<uint32_t>(random() % 300);
    if (random() % 4 != 0 ? grows : !grows) {
      REQUIRE(set.insert(slot) == model.insert(slot).second);
    } else {
      REQUIRE(set.erase(slot) == (model.erase(slot) == 1));
    }
    REQUIRE(set.size() == model.size());
    if (step % 100 != 0) continue;
    SlotBits among, both, expected;
    for (uint32_t i = 0; i < 300; ++i) {
      REQUIRE(set.contains(i) == model.contains(i));
      if (random() % 2 == 0) among.insert(i);
    }
    set.intersect(among, both);
    expected.zero_like(among);
    for (const uint32_t each : model) {
      if (among.contains(each)) expected.insert(each);
    }
    REQUIRE(both == expected);
  }
}
