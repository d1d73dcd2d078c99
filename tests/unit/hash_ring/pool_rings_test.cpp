#include "pool_rings.hpp"

#include <doctest/doctest.h>

#include "ring_support.hpp"

using namespace smg;
using namespace smg::test;

namespace {

struct Bench {
  explicit Bench(std::uint32_t workers) : fleet(workers), rings(Host(host.raw())) {}
  // The pool's ring as the calling thread sees it. Compared, never looked into.
  const HashRing* ring(const FakePool& pool) {
    return rings.with_ring(Pool(*pool.raw()),
                           [](const HashRing* known, Visited&) { return known; });
  }
  std::uint32_t workers(const FakePool& pool) {
    return rings.with_ring(Pool(*pool.raw()), [](const HashRing* known, Visited&) {
      return known != nullptr ? known->worker_count() : 0;
    });
  }

  FakeHost host;
  FakeFleet fleet;
  PoolRings rings;
};

}  // namespace

TEST_CASE("a pool that nobody told of has no ring") {
  Bench bench(3);
  const auto pool = bench.fleet.pool();
  CHECK(bench.ring(*pool) == nullptr);
  bench.rings.pool_changed(nullptr, pool->raw());
  CHECK(bench.workers(*pool) == 3);
}

TEST_CASE("the ring of the pool before stays for requests on their way, older ones go") {
  Bench bench(5);
  const auto first = bench.fleet.pool({0, 1, 2});
  const auto second = bench.fleet.pool({0, 1, 2, 3});
  const auto third = bench.fleet.pool({1, 2, 3, 4, 0});
  bench.rings.pool_changed(nullptr, first->raw());
  bench.rings.pool_changed(first->raw(), second->raw());
  CHECK(bench.workers(*first) == 3);
  CHECK(bench.workers(*second) == 4);
  bench.rings.pool_changed(second->raw(), third->raw());
  CHECK(bench.ring(*first) == nullptr);
  CHECK(bench.workers(*second) == 4);
  CHECK(bench.workers(*third) == 5);
  bench.rings.pool_changed(third->raw(), nullptr);
  CHECK(bench.ring(*second) == nullptr);
  CHECK(bench.ring(*third) == nullptr);
}

TEST_CASE("the ring of all workers follows every change, beside those of models") {
  Bench bench(4);
  const auto a = bench.fleet.pool({0, 1}, "a");
  const auto b = bench.fleet.pool({2, 3}, "b");
  const auto all = bench.fleet.pool({0, 1, 2, 3}, "unknown");
  for (const auto* pool : {&a, &b, &all}) bench.rings.pool_changed(nullptr, (*pool)->raw());
  CHECK(bench.workers(*a) == 2);
  CHECK(bench.workers(*b) == 2);
  CHECK(bench.workers(*all) == 4);
  const auto smaller_b = bench.fleet.pool({2}, "b");
  const auto smaller_all = bench.fleet.pool({0, 1, 2}, "unknown");
  bench.rings.pool_changed(b->raw(), smaller_b->raw());
  bench.rings.pool_changed(all->raw(), smaller_all->raw());
  CHECK(bench.workers(*a) == 2);
  CHECK(bench.workers(*smaller_b) == 1);
  CHECK(bench.workers(*smaller_all) == 3);
}

TEST_CASE("pools with the same workers share one ring") {
  Bench bench(3);
  const auto model = bench.fleet.pool({0, 1, 2}, "m");
  const auto all = bench.fleet.pool({0, 1, 2}, "unknown");
  const auto reordered = bench.fleet.pool({2, 1, 0}, "n");
  for (const auto* pool : {&model, &all, &reordered}) {
    bench.rings.pool_changed(nullptr, (*pool)->raw());
  }
  CHECK(bench.ring(*model) == bench.ring(*all));
  CHECK(bench.ring(*model) != bench.ring(*reordered));
  const auto described_anew = bench.fleet.pool({0, 1, 2}, "m");
  bench.rings.pool_changed(model->raw(), described_anew->raw());
  CHECK(bench.ring(*described_anew) == bench.ring(*all));
}

TEST_CASE("every loop sees a change at its next selection") {
  Bench bench(3);
  const auto first = bench.fleet.pool({0, 1});
  const auto second = bench.fleet.pool({0, 1, 2});
  bench.rings.pool_changed(nullptr, first->raw());
  for (const std::uint32_t loop : {0u, 1u, SMG_LOOP_NONE}) {
    const OnLoop on(loop);
    CHECK(bench.workers(*first) == 2);
  }
  bench.rings.pool_changed(first->raw(), second->raw());
  for (const std::uint32_t loop : {0u, 1u, SMG_LOOP_NONE}) {
    const OnLoop on(loop);
    CHECK(bench.workers(*second) == 3);
  }
}
