#include "placement.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

using namespace cache_aware;

namespace {

std::vector<Tenant> join(Tenants& tenants, uint32_t count) {
  std::vector<Tenant> workers;
  for (uint32_t i = 0; i < count; ++i) workers.push_back(tenants.add(i, std::to_string(i)));
  return workers;
}

}  // namespace

TEST_CASE("a key has at most three holders, the longest unused makes room") {
  Tenants tenants;
  const auto workers = join(tenants, 5);
  Placement placement(tenants, 100);
  const PlacementKey key{1, 4};
  for (uint32_t i = 0; i < 3; ++i) placement.record(key, workers[i], 10 + i);
  placement.record(key, workers[0], 20);
  placement.record(key, workers[3], 21);
  const Holders found = placement.find(key, 30);
  CHECK(found.count == 3);
  for (const Tenant each : found.all()) CHECK(each != workers[1]);
  CHECK(placement.find({1, 8}, 30).count == 0);
}

TEST_CASE("a sweep leaves who is alive and counts what is left") {
  Tenants tenants;
  const auto workers = join(tenants, 2);
  Placement placement(tenants, 100);
  placement.record({1, 4}, workers[0], 10);
  placement.record({1, 4}, workers[1], 50);
  placement.record({2, 4}, workers[0], 10);
  placement.sweep(110);
  CHECK(placement.size() == 2);
  placement.sweep(111);
  CHECK(placement.size() == 1);
  CHECK(placement.find({1, 4}, 111).count == 1);
}

TEST_CASE("a worker that left leaves no trace and is not recorded any more") {
  Tenants tenants;
  const auto workers = join(tenants, 2);
  Placement placement(tenants, 100);
  for (uint64_t hash = 0; hash < 500; ++hash) {
    placement.record({hash << 32, 4}, workers[hash % 2], 10);
  }
  tenants.remove(workers[0], "0");
  placement.forget(workers[0]);
  CHECK_FALSE(placement.has_trace(0));
  CHECK(placement.size() == 250);
  placement.record({1, 4}, workers[0], 10);
  CHECK(placement.size() == 250);
  // Nor is it taken for the next worker in its slot.
  const Tenant next = tenants.add(0, "0");
  placement.record({1, 4}, workers[0], 10);
  CHECK(placement.size() == 250);
  placement.record({1, 4}, next, 10);
  CHECK(placement.size() == 251);
}

TEST_CASE("what clients send does not make it grow without bound") {
  Tenants tenants;
  const auto workers = join(tenants, 1);
  Placement placement(tenants, 1'000'000, 640);
  std::mt19937_64 random(1);
  for (uint64_t i = 0; i < 20'000; ++i) placement.record({random(), 4}, workers[0], i);
  CHECK(placement.size() <= 640 + 64);
  CHECK(placement.size() > 600);
  CHECK(placement.size() == placement.recount());
}
