#include <doctest/doctest.h>

#include "fake_host.hpp"
#include "fake_pool.hpp"
#include "smg/cpp/eligible.hpp"

using smg::test::FakeFleet;
using smg::test::FakeHost;
using smg::test::OnLoop;

namespace {

struct Look {
  std::vector<std::uint32_t> indices;
  bool fresh;
  int extra;
};

Look look(smg::EligibleCache<int>& cache, const smg::test::FakePool& pool) {
  Look result{};
  cache.choose(smg::Pool(*pool.raw()), [&](auto& entry) -> std::optional<uint32_t> {
    result = {entry.indices, entry.fresh, entry.extra};
    entry.extra = 7;
    return std::nullopt;
  });
  return result;
}

}  // namespace

TEST_CASE("a list of eligible workers is made once and kept until an epoch passes") {
  FakeHost host;
  FakeFleet fleet(3);
  smg::EligibleCache<int> cache{smg::Host(host.raw())};
  const auto pool = fleet.pool();
  const OnLoop on(0);
  CHECK(look(cache, *pool).fresh);
  CHECK_FALSE(look(cache, *pool).fresh);
  CHECK(look(cache, *pool).extra == 7);
  fleet.down(1);
  const Look changed = look(cache, *pool);
  CHECK(changed.fresh);
  CHECK(changed.extra == 0);
  CHECK(changed.indices == std::vector<std::uint32_t>{0, 2});
}

TEST_CASE("pools and loops have lists of their own") {
  FakeHost host(2);
  FakeFleet fleet(3);
  smg::EligibleCache<int> cache{smg::Host(host.raw())};
  const auto a = fleet.pool({0});
  const auto b = fleet.pool({1, 2});
  for (const std::uint32_t loop : {0u, 1u, SMG_LOOP_NONE}) {
    const OnLoop on(loop);
    CHECK(look(cache, *a).fresh);
    CHECK(look(cache, *b).fresh);
    CHECK(look(cache, *a).indices == std::vector<std::uint32_t>{0});
    CHECK(look(cache, *b).indices == std::vector<std::uint32_t>{0, 1});
    CHECK_FALSE(look(cache, *a).fresh);
  }
}

TEST_CASE("thousands of pools that come and go do not pile up wrong answers") {
  FakeHost host;
  FakeFleet fleet(4);
  smg::EligibleCache<int> cache{smg::Host(host.raw())};
  const OnLoop on(1);
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const auto pool = fleet.pool({i % 4, (i + 1) % 4});
    if (i % 7 == 0) fleet.set_state(i % 4, i % 2 == 0 ? SMG_STATUS_READY : SMG_STATUS_FAILED);
    const Look seen = look(cache, *pool);
    std::vector<std::uint32_t> expected;
    for (std::uint32_t k = 0; k < 2; ++k) {
      if (smg_pool_eligible(pool->raw(), k) != 0) expected.push_back(k);
    }
    REQUIRE(seen.fresh);
    REQUIRE(seen.indices == expected);
  }
}

TEST_CASE("a choice that went out before the epoch moved is made again") {
  FakeHost host;
  FakeFleet fleet(3);
  smg::EligibleCache<> cache{smg::Host(host.raw())};
  const auto pool = fleet.pool();
  const OnLoop on(0);
  const auto first = [&] {
    return cache.choose(smg::Pool(*pool->raw()), [](auto& entry) -> std::optional<uint32_t> {
      if (entry.indices.empty()) return std::nullopt;
      return entry.indices.front();
    });
  };
  CHECK(first() == 0);
  fleet.live(0).state = SMG_STATUS_READY | SMG_STATE_OVERLOADED;  // no epoch yet
  CHECK(first() == 1);
  fleet.live(1).state = SMG_STATUS_NOT_READY;
  fleet.live(2).state = SMG_STATUS_NOT_READY;
  CHECK_FALSE(first());
}
