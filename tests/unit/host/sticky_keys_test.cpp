// Stickiness around a policy: section 4.1 and worked example H5 of the policies' specification.
#include "host/routing/sticky_keys.hpp"

#include <doctest/doctest.h>

#include <map>

#include "registry_bench.hpp"

using namespace smg;

namespace {

// Three workers, w1 to w3, and a policy that says what the test wants.
struct Sticky {
  explicit Sticky(RoutingKeyOverride options = {}) : config(std::move(options)) {
    bench.policy_api.select = [](void* self, const smg_policy_request*, const smg_pool*,
                                 std::uint32_t* index) {
      *index = static_cast<Sticky*>(self)->wanted;
      return SMG_OK;
    };
    bench.policy.self = this;
    for (const char* url : {"http://w1", "http://w2", "http://w3"}) {
      workers.push_back(bench.add(url));
      bench.registry->ready_when_published(workers.back());
    }
    bench.registry->publish();
    fleet = bench.registry->snapshot();
    keys = std::make_unique<StickyKeys>(config, bench.families);
  }

  // Chooses for the key; the policy would take `policy`.
  std::uint32_t select(std::uint32_t policy, std::string_view key = "k") {
    wanted = policy;
    smg_policy_request request{};
    request.now = now;
    request.random = random += 0x9e3779b97f4a7c15u;
    const Selection selection = keys->select(*fleet->find("m"), request, key, hash(key), false);
    return selection.index;
  }
  static std::uint64_t hash(std::string_view key) { return std::hash<std::string_view>()(key) | 1; }
  void enter(std::uint32_t worker, int times, std::string_view key = "k") {
    for (int i = 0; i < times; ++i) workers[worker]->runtime()->keys().enter(hash(key));
  }
  void leave(std::uint32_t worker, int times, std::string_view key = "k") {
    for (int i = 0; i < times; ++i) workers[worker]->runtime()->keys().leave(hash(key));
  }
  void set(std::uint32_t worker, std::uint32_t status) {
    bench.registry->set_status(*workers[worker], status);
  }
  double branch(std::string_view name) {
    return bench.families.manual_policy_branch.with({name}).value();
  }

  test::RegistryBench bench;
  RoutingKeyOverride config;
  std::vector<std::shared_ptr<Worker>> workers;
  std::shared_ptr<const FleetSnapshot> fleet;
  std::unique_ptr<StickyKeys> keys;
  std::uint32_t wanted = 0;
  std::uint64_t now = 1;
  std::uint64_t random = 0;
};

}  // namespace

TEST_CASE("a key stays where the policy first sent it") {
  Sticky sticky;
  CHECK(sticky.select(0) == 0);
  CHECK(sticky.branch("vacant") == 1);
  CHECK(sticky.select(2) == 0);
  CHECK(sticky.branch("occupied_hit") == 1);
  CHECK(sticky.select(2, "other") == 2);
}

TEST_CASE("H5: at the cap the request goes where the policy wants it, and the pin moves") {
  Sticky sticky;
  CHECK(sticky.select(0) == 0);
  sticky.enter(0, 2);
  CHECK(sticky.select(1) == 1);
  CHECK(sticky.branch("cap_respill") == 1);
  sticky.enter(1, 1);
  sticky.leave(0, 2);
  // The pin is [w2, w1]: w2 goes first, and w1 is remembered.
  CHECK(sticky.select(2) == 1);
  sticky.set(1, SMG_STATUS_NOT_READY);
  CHECK(sticky.select(2) == 0);
}

TEST_CASE("H5: at the cap, a policy that wants the same worker gets it and the pin stays") {
  Sticky sticky;
  CHECK(sticky.select(0) == 0);
  sticky.enter(0, 2);
  CHECK(sticky.select(0) == 0);
  sticky.leave(0, 2);
  CHECK(sticky.select(2) == 0);
}

TEST_CASE("H5: at the cap, a worker that is at the cap as well gets the request, not the pin") {
  Sticky sticky;
  CHECK(sticky.select(0) == 0);
  sticky.enter(0, 2);
  sticky.enter(1, 2);
  CHECK(sticky.select(1) == 1);
  sticky.leave(0, 2);
  CHECK(sticky.select(2) == 0);
}

TEST_CASE("H5: requests of other keys do not count towards the cap") {
  Sticky sticky;
  CHECK(sticky.select(0) == 0);
  sticky.enter(0, 50, "busy");
  sticky.enter(0, 1);
  CHECK(sticky.select(2) == 0);
  CHECK(sticky.branch("occupied_hit") == 1);
}

TEST_CASE("a pinned worker that is out is replaced; the newer pin goes first from then on") {
  Sticky sticky;
  CHECK(sticky.select(0) == 0);
  sticky.set(0, SMG_STATUS_NOT_READY);
  CHECK(sticky.select(1) == 1);
  CHECK(sticky.branch("occupied_miss") == 1);
  sticky.set(0, SMG_STATUS_READY);
  CHECK(sticky.select(2) == 1);
}

TEST_CASE("other modes append the new pin, so the first worker gets its key back") {
  RoutingKeyOverride config;
  config.assignment_mode = "min_load";
  Sticky sticky(config);
  for (std::uint32_t i : {1u, 2u}) sticky.workers[i]->enter();
  CHECK(sticky.select(2) == 0);
  sticky.set(0, SMG_STATUS_NOT_READY);
  sticky.workers[1]->enter();
  CHECK(sticky.select(1) == 2);
  sticky.set(0, SMG_STATUS_READY);
  CHECK(sticky.select(1) == 0);
}

TEST_CASE("min_group takes the worker with the fewest keys, random takes all") {
  RoutingKeyOverride config;
  config.assignment_mode = "min_group";
  Sticky by_group(config);
  by_group.enter(0, 9, "a");
  by_group.enter(1, 1, "b");
  by_group.enter(1, 1, "c");
  by_group.enter(2, 1, "d");
  by_group.enter(2, 1, "e");
  CHECK(by_group.select(2) == 0);
  config.assignment_mode = "random";
  Sticky at_random(config);
  std::map<std::uint32_t, int> chosen;
  for (int i = 0; i < 300; ++i) ++chosen[at_random.select(0, "key " + std::to_string(i))];
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(chosen[i] > 60);
}

TEST_CASE("without an eligible worker there is no pin") {
  Sticky sticky;
  for (std::uint32_t i = 0; i < 3; ++i) sticky.set(i, SMG_STATUS_NOT_READY);
  CHECK(sticky.select(0) == Selection::kNone);
  CHECK(sticky.branch("no_healthy_workers") == 1);
  sticky.set(2, SMG_STATUS_READY);
  CHECK(sticky.select(2) == 2);
  CHECK(sticky.branch("vacant") == 1);
}

TEST_CASE("a key of another model is another key") {
  Sticky sticky;
  CHECK(sticky.select(0) == 0);
  const auto other = sticky.bench.add("http://w4", "n");
  sticky.bench.registry->ready_when_published(other);
  sticky.bench.registry->publish();
  const auto fleet = sticky.bench.registry->snapshot();
  sticky.wanted = 0;
  smg_policy_request request{};
  request.now = 1;
  CHECK(sticky.keys->select(*fleet->find("n"), request, "k", 3, false).index == 0);
  CHECK(sticky.branch("vacant") == 2);
}
