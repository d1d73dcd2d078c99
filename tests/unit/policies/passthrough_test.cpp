#include <doctest/doctest.h>

#include "fake_policy.hpp"
#include "fake_pool.hpp"

using smg::test::FakeFleet;
using smg::test::FakeHost;
using smg::test::LoadedPolicy;

TEST_CASE("passthrough takes the first eligible worker") {
  FakeHost host;
  LoadedPolicy policy(SMG_PASSTHROUGH, host);
  FakeFleet fleet(3);
  const auto pool = fleet.pool();
  CHECK(policy.select(pool->raw(), ~0ull) == 0);
  fleet.down(0);
  CHECK(policy.select(pool->raw()) == 1);
  fleet.down(1);
  fleet.down(2);
  CHECK_FALSE(policy.select(pool->raw()));
  CHECK_FALSE(policy.select(fleet.pool({})->raw()));
  fleet.up(2);
  CHECK(policy.select(pool->raw()) == 2);
  fleet.up(0);
  CHECK(policy.select(pool->raw()) == 0);
}

TEST_CASE("passthrough warns once of a pool with more than one worker") {
  FakeHost host;
  LoadedPolicy policy(SMG_PASSTHROUGH, host);
  FakeFleet fleet(3);
  const auto one = fleet.pool({0});
  const auto two = fleet.pool({0, 1});
  const auto three = fleet.pool();
  policy.pool_changed(nullptr, one->raw());
  CHECK(host.log_lines().empty());
  policy.pool_changed(one->raw(), two->raw());
  CHECK(host.log_lines().size() == 1);
  policy.pool_changed(two->raw(), three->raw());
  policy.pool_changed(three->raw(), nullptr);
  for (int i = 0; i < 10; ++i) policy.select(three->raw());
  CHECK(host.log_lines().size() == 1);
}

TEST_CASE("passthrough wants to know nothing of a request or of loads") {
  FakeHost host;
  LoadedPolicy policy(SMG_PASSTHROUGH, host);
  CHECK(policy.api().needs == 0);
  CHECK(policy.plugin().option_count == 0);
  CHECK(host.subscriber_count() == 0);
}
