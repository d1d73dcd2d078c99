// Membership and the books: who left is nowhere, what was decided before is not booked after.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <string>

#include "cache_aware.hpp"
#include "fake_host.hpp"
#include "fake_pool.hpp"
#include "hashes.hpp"
#include "option_defaults.hpp"
#include "rig.hpp"

using namespace smg::test;
using cache_aware::CacheAware;
using cache_aware::ModelState;
using cache_aware::Tenant;

namespace {

struct Books {
  explicit Books(const std::function<void(FakeHost&)>& configure = [](FakeHost&) {}) {
    host.time = 1'000'000'000'000;
    set_defaults(host);
    host.ints["block_size"] = 4;
    configure(host);
    policy = std::make_unique<CacheAware>(smg::Host(host.raw()));
  }
  const ModelState* model(std::size_t number = 0) const {
    const auto list = policy->models().list();
    return number < list->size() ? (*list)[number].get() : nullptr;
  }
  std::optional<uint32_t> text(const FakePool& pool, const std::string& prompt) {
    smg_policy_request request{};
    request.struct_size = sizeof request;
    request.now = host.time;
    request.random = ++random * 0x9e3779b97f4a7c15u;
    request.text = view_of(prompt);
    return policy->select(smg::Request(request), smg::Pool(*pool.raw()));
  }
  std::optional<uint32_t> tokens(const FakePool& pool, const Tokens& prompt) {
    smg_policy_request request{};
    request.struct_size = sizeof request;
    request.now = host.time;
    request.random = ++random * 0x9e3779b97f4a7c15u;
    request.tokens = prompt.data();
    request.token_count = prompt.size();
    return policy->select(smg::Request(request), smg::Pool(*pool.raw()));
  }
  void stored(const std::string& url, const std::vector<uint64_t>& blocks, const Tokens& ids) {
    smg_event_kv event{};
    event.event.struct_size = sizeof event;
    event.event.type = SMG_EVENT_KV_BLOCKS;
    event.event.worker_url = view_of(url);
    event.action = SMG_KV_STORED;
    event.blocks = blocks.data();
    event.block_count = blocks.size();
    event.tokens = ids.data();
    event.token_count = ids.size();
    event.block_size = 4;
    host.publish(event.event);
  }

  FakeHost host;
  std::unique_ptr<CacheAware> policy;
  uint64_t random = 0;
};

bool has_trace(const ModelState& model, Tenant tenant) {
  return model.strings.size(tenant) > 0 || model.tokens.size(tenant) > 0 ||
         model.placement.has_trace(tenant.slot) || model.index.has_trace(tenant.slot);
}

}  // namespace

TEST_CASE("a removed worker leaves no trace, also not by a request that still sees it") {
  for (const bool hash : {false, true}) {
    Books books([&](FakeHost& host) {
      if (hash) host.strings["cache_index"] = "hash";
      host.strings["cache_boundaries"] = "4,8";
    });
    FakeFleet fleet(2);
    const auto both = fleet.pool({0, 1});
    books.policy->pool_changed(nullptr, both->raw());
    const Tenant gone = books.model()->tenants.find(fleet.url(0)).value();
    fleet.down(1);
    CHECK(books.text(*both, "some prompt") == 0);
    CHECK(books.tokens(*both, count_up(1, 16)) == 0);
    books.stored(fleet.url(0), {1, 2}, count_up(1, 8));
    CHECK(has_trace(*books.model(), gone));
    const auto rest = fleet.pool({1});
    books.policy->pool_changed(both->raw(), rest->raw());
    CHECK_FALSE(has_trace(*books.model(), gone));
    // A late request; the worker's state word is as it was.
    CHECK(books.text(*both, "some prompt") == 0);
    CHECK(books.tokens(*both, count_up(1, 16)) == 0);
    books.stored(fleet.url(0), {1, 2}, count_up(1, 8));
    CHECK_FALSE(has_trace(*books.model(), gone));
    CHECK(books.model()->strings.size() == 0);
    CHECK(books.model()->tokens.size() == 0);
    CHECK(books.model()->placement.size() == 0);
    CHECK(books.model()->index.size() == 0);
  }
}

TEST_CASE("the next worker of a slot inherits nothing") {
  Books books;
  FakeFleet fleet(2);
  const auto before = fleet.pool({0, 1});
  books.policy->pool_changed(nullptr, before->raw());
  fleet.down(1);
  CHECK(books.text(*before, "some prompt") == 0);
  fleet.up(1);
  const std::uint32_t other = fleet.add("http://other:8000");
  fleet.worker(other).slot = 0;
  const auto after = fleet.pool({other, 1});
  books.policy->pool_changed(before->raw(), after->raw());
  CHECK(books.model()->strings.size() == 0);
  fleet.set_in_flight(other, 1);
  CHECK(books.text(*after, "some prompt") == 1);
  // A late request to the old one is not booked on the new one.
  fleet.down(1);
  CHECK(books.text(*before, "another prompt") == 0);
  const Tenant tenant = books.model()->tenants.find("http://other:8000").value();
  CHECK(books.model()->strings.size(tenant) == 0);
}

TEST_CASE("a worker whose description changes keeps what is known of it") {
  Books books;
  FakeFleet fleet(2);
  const auto before = fleet.pool();
  books.policy->pool_changed(nullptr, before->raw());
  fleet.down(1);
  CHECK(books.text(*before, "some prompt") == 0);
  fleet.up(1);
  fleet.worker(0).ref = 99;
  const auto after = fleet.pool();
  books.policy->pool_changed(before->raw(), after->raw());
  fleet.set_in_flight(0, 1);
  CHECK(books.text(*after, "some prompt") == 0);
}

TEST_CASE("models are apart, and one that is gone starts anew") {
  Books books;
  FakeFleet fleet(2);
  const auto a = fleet.pool({0, 1}, "a");
  const auto b = fleet.pool({0, 1}, "b");
  books.policy->pool_changed(nullptr, a->raw());
  books.policy->pool_changed(nullptr, b->raw());
  fleet.down(1);
  CHECK(books.text(*a, "some prompt") == 0);
  fleet.up(1);
  fleet.set_in_flight(0, 1);
  CHECK(books.text(*a, "some prompt") == 0);
  CHECK(books.text(*b, "some prompt") == 1);
  CHECK(books.model(0)->strings.size() == 11);
  books.policy->pool_changed(a->raw(), nullptr);
  CHECK(books.policy->models().list()->size() == 1);
  CHECK(books.text(*a, "some prompt").has_value());  // a late request
  const auto again = fleet.pool({0, 1}, "a");
  books.policy->pool_changed(nullptr, again->raw());
  CHECK(books.model(0)->strings.size() == 0);
  CHECK(books.text(*again, "some prompt") == 1);
}

TEST_CASE("random requests, events and changes: never an ineligible worker, books exact") {
  constexpr std::uint32_t kWorkers = 12;
  for (const bool hash : {false, true}) {
    Books books([&](FakeHost& host) {
      if (hash) host.strings["cache_index"] = "hash";
      host.strings["cache_boundaries"] = "4,8";
      host.floats["overlap_decay"] = 0.5;
    });
    std::mt19937_64 random(11);
    const auto below = [&](std::uint64_t bound) {
      return static_cast<std::uint32_t>(random() % bound);
    };
    FakeFleet fleet(kWorkers);
    std::vector<bool> member(kWorkers, true);
    std::unique_ptr<FakePool> pool = fleet.pool();
    books.policy->pool_changed(nullptr, pool->raw());
    for (int step = 0; step < 8000; ++step) {
      const std::uint32_t number = below(kWorkers);
      Tokens prompt = count_up(1, 40);
      for (std::size_t i = 4 * below(10); i < prompt.size(); ++i) prompt[i] += 100 * below(5);
      switch (below(8)) {
        case 0:
          fleet.set_state(number, below(3) == 0 ? SMG_STATUS_NOT_READY : SMG_STATUS_READY);
          break;
        case 1:
          fleet.set_in_flight(number, below(300));
          break;
        case 2:
          books.stored(fleet.url(number), {random(), random(), random()}, prompt);
          break;
        case 3: {
          if (below(8) != 0) break;
          const auto tenant = books.model()->tenants.find(fleet.url(number));
          member[number] = !member[number];
          std::vector<std::uint32_t> numbers;
          for (std::uint32_t i = 0; i < kWorkers; ++i) {
            if (member[i]) numbers.push_back(i);
          }
          auto next = fleet.pool(numbers);
          books.policy->pool_changed(pool->raw(), next->raw());
          pool = std::move(next);
          if (tenant) REQUIRE_FALSE(has_trace(*books.model(), *tenant));
          break;
        }
        default: {
          const auto choice = below(2) == 0
                                  ? books.tokens(*pool, prompt)
                                  : books.text(*pool, std::string(prompt.begin(), prompt.end()));
          bool any = false;
          for (std::uint32_t i = 0; i < pool->raw()->count; ++i) {
            any = any || smg_pool_eligible(pool->raw(), i) != 0;
          }
          REQUIRE(choice.has_value() == any);
          if (choice) REQUIRE(smg_pool_eligible(pool->raw(), *choice) != 0);
        }
      }
      if (step % 100 != 0) continue;
      const auto count = books.model()->index.recount();
      REQUIRE(count.memberships == books.model()->index.size());
      REQUIRE(count.entries == books.model()->index.entries());
      REQUIRE(books.model()->placement.recount() == books.model()->placement.size());
    }
    CHECK(books.model()->index.size() > 0);
    CHECK((books.model()->placement.size() > 0) == hash);
    books.policy->pool_changed(pool->raw(), nullptr);
    CHECK(books.model() == nullptr);
  }
}
