// What the fleet does when a policy or a transport is exchanged for another instance.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "host/fleet/policy_choice.hpp"
#include "host/fleet/registry.hpp"
#include "registry_bench.hpp"

using namespace smg;

namespace {

using Lines = std::vector<std::string>;

// A policy that writes down what it is told of pools.
struct Listener {
  explicit Listener(const std::string& name) {
    api.struct_size = sizeof api;
    api.pool_changed = [](void* self, const smg_pool* before, const smg_pool* after) {
      const auto count = [](const smg_pool* pool) {
        return pool == nullptr ? std::string("-") : std::to_string(pool->count);
      };
      const smg_pool& any = after != nullptr ? *after : *before;
      static_cast<Listener*>(self)->told.push_back(std::string(any.model.data, any.model.size) +
                                                   " " + count(before) + ">" + count(after));
    };
    ref->api = &api;
    ref->self = this;
    ref->name = name;
  }
  Lines take() {
    std::sort(told.begin(), told.end());
    return std::exchange(told, {});
  }

  smg_policy_api api{};
  Lines told;
  std::shared_ptr<PolicyRef> ref = std::make_shared<PolicyRef>();
};

struct Exchange {
  Exchange() {
    bench.policy_for = [this](std::string_view, const Worker*) -> PolicyPtr { return old.ref; };
    // The pool of all workers has the bench's own policy until it is asked again.
    bench.registry->change_policies(
        [this](std::string_view, const Worker*, const PolicyPtr&) -> PolicyPtr { return old.ref; });
  }
  ~Exchange() { bench.policy_for = nullptr; }
  void exchange() {
    bench.registry->change_policies(
        [this](std::string_view, const Worker*, const PolicyPtr& present) -> PolicyPtr {
          return present == old.ref ? PolicyPtr(fresh.ref) : present;
        });
  }

  Listener old{"old"}, fresh{"fresh"};
  test::RegistryBench bench;
};

}  // namespace

TEST_CASE_FIXTURE(Exchange, "a successor hears of every pool before it chooses from one") {
  bench.add("http://a");
  bench.add("http://b", "n");
  bench.registry->publish();
  old.take();
  bench.registry->introduce(fresh.ref, old.ref);
  CHECK(fresh.take() == Lines{"m ->1", "n ->1", "unknown ->2"});
  CHECK(bench.registry->snapshot()->find("m")->policy == old.ref);
  exchange();
  CHECK(bench.registry->snapshot()->find("m")->policy == fresh.ref);
  CHECK(bench.registry->snapshot()->find("unknown")->policy == fresh.ref);
  CHECK(fresh.take() == Lines{"m 1>1", "n 1>1", "unknown 2>2"});
  CHECK(old.take() == Lines{"m 1>-", "n 1>-", "unknown 2>-"});
}

TEST_CASE_FIXTURE(Exchange, "a successor hears what became of its pools while it waited") {
  const auto first = bench.add("http://a");
  bench.registry->publish();
  bench.registry->introduce(fresh.ref, old.ref);
  fresh.take();
  bench.add("http://b", "n");
  bench.add("http://c");
  bench.registry->publish();
  bench.registry->remove(bench.registry->find_url("http://a"));
  bench.registry->publish();
  CHECK(fresh.take().empty());  // not yet
  exchange();
  CHECK(fresh.take() == Lines{"m 1>1", "n ->1", "unknown 1>2"});
}

TEST_CASE_FIXTURE(Exchange, "one that was withdrawn is not told of anything any more") {
  bench.add("http://a");
  bench.registry->publish();
  bench.registry->introduce(fresh.ref, old.ref);
  fresh.take();
  bench.registry->withdraw();
  bench.add("http://b");
  bench.registry->publish();
  CHECK(fresh.take().empty());
  CHECK(bench.registry->snapshot()->find("m")->policy == old.ref);
}

TEST_CASE_FIXTURE(Exchange, "pools whose policy stays are not made anew") {
  bench.add("http://a");
  bench.registry->publish();
  const Pool* const before = bench.registry->snapshot()->find("m");
  bench.registry->change_policies(
      [](std::string_view, const Worker*, const PolicyPtr& present) { return present; });
  CHECK(bench.registry->snapshot()->find("m") == before);
}

TEST_CASE("workers move to another transport all together, or none") {
  test::RegistryBench bench;
  const auto a = bench.add("http://a"), b = bench.add("http://b");
  bench.registry->publish();
  static int room;
  auto api = bench.transport_api;
  api.open = [](void*, const smg_worker*, void** endpoint, smg_error* error) -> smg_status {
    *endpoint = nullptr;
    if (room-- > 0) return SMG_OK;
    error->size = std::string("no room").copy(error->text, error->capacity);
    return SMG_E_LIMIT;
  };
  const auto other = std::make_shared<TransportRef>();
  other->api = &api;
  std::string error;
  room = 1;
  CHECK_FALSE(bench.registry->move_workers(*bench.transport, other, error));
  CHECK(error == "no room");
  CHECK(a->endpoint()->transport() == bench.transport);
  room = 2;
  error.clear();
  const std::uint64_t ref = a->view().ref;
  const auto pool = bench.registry->snapshot();
  CHECK(bench.registry->move_workers(*bench.transport, other, error));
  bench.registry->publish();
  CHECK(a->endpoint()->transport() == other);
  CHECK(b->endpoint()->transport() == other);
  // Who chose from the pool before still has the endpoints of before.
  CHECK(pool->find("m")->endpoints[0]->transport() == bench.transport);
  CHECK(bench.registry->snapshot()->find("m")->endpoints[0] == a->endpoint());
  // To the fleet it is the same worker.
  CHECK(bench.registry->find(ref) == a);
  CHECK(a->endpoint()->ref() == ref);
  CHECK(bench.registry->runtime_of(ref) == a->runtime());
}

TEST_CASE("a choice goes from an instance to whoever took its place") {
  PolicyConfig config;
  config.name = "least_load";
  config.models = {{"special", "random"}};
  int made = 0;
  PolicyChoice choice(
      config,
      [] {
        return std::vector<std::string>{"cache_aware", "least_load", "random"};
      },
      [&](std::string_view name, PolicyChoice::Options, std::string&) -> PolicyPtr {
        auto ref = std::make_shared<PolicyRef>();
        ref->name = name;
        ++made;
        return ref;
      });
  REQUIRE(choice.prepare().empty());
  CHECK(made == 2);
  test::RegistryBench bench;
  const auto labelled = bench.add("http://a", "m", {{"policy", "cache_aware"}});
  const auto plain = bench.add("http://b", "n");
  const PolicyPtr own = choice.choose("m", labelled.get());
  const PolicyPtr common = choice.choose("n", plain.get());
  CHECK(own->name == "cache_aware");
  CHECK(choice.is_labelled(own));
  CHECK_FALSE(choice.is_labelled(common));
  CHECK(choice.choose_again("m", labelled.get(), own) == own);

  const auto successor_of = [](const PolicyPtr& ref) {
    return std::make_shared<const PolicyRef>(*ref);
  };
  const PolicyPtr own_2 = successor_of(own), common_2 = successor_of(common);
  choice.replace(own, own_2);
  choice.replace(common, common_2);
  CHECK(choice.choose_again("m", labelled.get(), own) == own_2);
  CHECK(choice.choose_again("n", plain.get(), common) == common_2);
  CHECK(choice.choose_again("unknown", nullptr, common) == common_2);
  // ... and from there on, as often as need be.
  const PolicyPtr own_3 = successor_of(own);
  choice.replace(own_2, own_3);
  CHECK(choice.choose_again("m", labelled.get(), own_2) == own_3);
  CHECK(choice.instances("cache_aware").size() == 1);
  CHECK(choice.instances("cache_aware").front().ref == own_3);
}

TEST_CASE("another configuration keeps the instances that it wants unchanged") {
  PolicyConfig config;
  config.name = "least_load";
  const PolicyChoice::Make make = [](std::string_view name, PolicyChoice::Options,
                                     std::string& error) -> PolicyPtr {
    if (name == "random") {
      error = "random is out";
      return nullptr;
    }
    auto ref = std::make_shared<PolicyRef>();
    ref->name = name;
    return ref;
  };
  PolicyChoice choice(
      config, [] { return std::vector<std::string>{}; }, make);
  REQUIRE(choice.prepare().empty());
  const PolicyPtr before = choice.choose("m", nullptr);
  std::string error;
  config.models = {{"m", "random"}};
  CHECK(choice
            .prepare_for(
                config, make, [](std::string_view) { return true; }, error)
            .empty());
  CHECK(error == "random is out");
  CHECK(choice.choose("m", nullptr) == before);
  error.clear();
  config.models = {{"m", "cache_aware"}};
  auto configured = choice.prepare_for(
      config, make, [](std::string_view) { return true; }, error);
  REQUIRE(error.empty());
  choice.reconfigure(config, std::move(configured));
  CHECK(choice.choose("n", nullptr) == before);
  CHECK(choice.choose("m", nullptr)->name == "cache_aware");
  // Options that differ make another instance of the same policy.
  configured = choice.prepare_for(
      config, make, [](std::string_view) { return false; }, error);
  choice.reconfigure(config, std::move(configured));
  CHECK(choice.choose("n", nullptr) != before);
}
