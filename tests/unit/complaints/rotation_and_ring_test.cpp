// Reports about rotations and hash rings, as tests of round_robin and consistent_hashing.
#include <doctest/doctest.h>

#include <map>

#include "desk.hpp"

using namespace smg::test;

TEST_CASE(
    "smg#2507, production-stack#915: two sets that take turns each use all of their workers") {
  Desk desk(SMG_ROUND_ROBIN, 4);
  const auto a = desk.fleet.pool({0, 1}, "a");
  const auto b = desk.fleet.pool({2, 3}, "b");
  std::map<std::uint32_t, int> chosen;
  for (int i = 0; i < 100; ++i) {
    ++chosen[*desk.policy().select(a->raw())];
    ++chosen[2 + *desk.policy().select(b->raw())];
  }
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(chosen[i] == 50);
}

TEST_CASE("sglang#22835: after a worker has left, requests that name no model find another one") {
  Desk desk(SMG_CONSISTENT_HASHING, 3, "unknown");
  std::map<std::string, std::uint32_t> owners;
  for (int i = 0; i < 100; ++i) {
    const std::string key = "key " + std::to_string(i);
    owners[key] = desk.number_of(*desk.choose({}, key));
  }
  desk.set_members({0, 2});
  for (const auto& [key, owner] : owners) {
    const auto choice = desk.choose({}, key);
    REQUIRE(choice);
    if (owner != 1) CHECK(desk.number_of(*choice) == owner);
    CHECK(desk.number_of(*choice) != 1);
  }
}

TEST_CASE("sglang#33625, prime-rl#3255: strict hashing stays strict, a bound passes hot keys on") {
  const auto sent_to = [](double factor) {
    Desk desk(SMG_CONSISTENT_HASHING, 4);
    desk.host.floats["bounded_load_factor"] = factor;
    std::map<std::uint32_t, int> chosen;
    for (int i = 0; i < 40; ++i) ++chosen[desk.send({}, "hot")];
    return chosen;
  };
  CHECK(sent_to(0).size() == 1);
  const auto bounded = sent_to(1.25);
  CHECK(bounded.size() == 4);
  for (const auto& [worker, requests] : bounded) CHECK(requests <= 13);  // 1.25 x 10, rounded up
}
