#include "host/fleet/registry.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "registry_bench.hpp"

using namespace smg;

using Bench = test::RegistryBench;

TEST_CASE("changes that come together are published together") {
  Bench bench;
  const auto before = bench.registry->generation();
  for (int i = 0; i < 100; ++i) bench.add("http://w" + std::to_string(i));
  CHECK(bench.asked == 1);
  CHECK(bench.registry->generation() == before);
  bench.registry->publish();
  CHECK(bench.registry->generation() == before + 1);
  CHECK(bench.registry->snapshot()->find("m")->view.count == 100);
  bench.registry->publish();
  CHECK(bench.registry->generation() == before + 1);
}

TEST_CASE("a policy hears of a pool before anybody can choose from it") {
  struct Told {
    Registry* registry = nullptr;
    std::vector<std::string> lines;
  };
  Bench bench;
  static Told told;
  told = {bench.registry.get(), {}};
  bench.policy_api.pool_changed = [](void*, const smg_pool* before, const smg_pool* after) {
    const auto count = [](const smg_pool* pool) {
      return pool == nullptr ? std::string("-") : std::to_string(pool->count);
    };
    const smg_pool& any = after != nullptr ? *after : *before;
    const std::string model(any.model.data, any.model.size);
    const Pool* seen = told.registry->snapshot()->find(model);
    told.lines.push_back(model + " " + count(before) + ">" + count(after) + " seen " +
                         count(seen == nullptr ? nullptr : &seen->view));
  };
  const auto take = [&] {
    bench.registry->publish();
    std::sort(told.lines.begin(), told.lines.end());
    return std::exchange(told.lines, {});
  };
  using Lines = std::vector<std::string>;
  const auto first = bench.add("http://a");
  CHECK(take() == Lines{"m ->1 seen -", "unknown ->1 seen -"});
  const auto second = bench.add("http://b", "n");
  CHECK(take() == Lines{"n ->1 seen -", "unknown 1>2 seen 1"});
  bench.registry->remove(first);
  CHECK(take() == Lines{"m 1>- seen 1", "unknown 2>1 seen 2"});
  // A worker of a model that nobody knows is in the pool of all, and only there.
  const auto third = bench.add("http://c", "unknown");
  CHECK(take() == Lines{"unknown 1>2 seen 1"});
  bench.registry->remove(second);
  bench.registry->remove(third);
  CHECK(take() == Lines{"n 1>- seen 1", "unknown 2>- seen 2"});
  bench.policy_api.pool_changed = nullptr;
}

TEST_CASE("a model keeps its policy until its last worker has left") {
  Bench bench;
  std::vector<std::string> asked;
  std::weak_ptr<const PolicyRef> given;
  bench.policy_for = [&](std::string_view model, const Worker* first) {
    asked.push_back(std::string(model) + " " + first->url());
    auto made = std::make_shared<PolicyRef>(bench.policy);
    given = made;
    return made;
  };
  const auto first = bench.add("http://a");
  const auto second = bench.add("http://b");
  bench.registry->publish();
  CHECK(asked == std::vector<std::string>{"m http://a"});
  bench.registry->replace(first, first->description());
  bench.registry->publish();
  bench.registry->remove(bench.registry->find_url("http://a"));
  bench.registry->publish();
  bench.add("http://c");
  bench.registry->publish();
  CHECK(asked.size() == 1);
  CHECK_FALSE(given.expired());
  bench.registry->remove(second);
  bench.registry->remove(bench.registry->find_url("http://c"));
  bench.registry->publish();
  CHECK(given.expired());
  bench.add("http://d");
  bench.registry->publish();
  CHECK(asked == std::vector<std::string>{"m http://a", "m http://d"});
  bench.policy_for = nullptr;
}

TEST_CASE("a worker is not ready before the pools that hold it are visible") {
  Bench bench;
  const auto worker = bench.add("http://w");
  bench.registry->ready_when_published(worker);
  CHECK(bench.status(*worker) == SMG_STATUS_PENDING);
  bench.registry->publish();
  CHECK(bench.status(*worker) == SMG_STATUS_READY);
  CHECK(bench.registry->snapshot()->find("m") != nullptr);
}

TEST_CASE("a worker that is removed is out of routing at once") {
  Bench bench;
  const auto worker = bench.add("http://w");
  bench.registry->ready_when_published(worker);
  bench.registry->publish();
  const auto pool = bench.registry->snapshot();
  bench.registry->remove(worker);
  CHECK(smg_pool_eligible(&pool->find("m")->view, 0) == 0);
  CHECK(bench.registry->find(worker->view().ref) == nullptr);
}

TEST_CASE("overload 4.2, 4.4: the flag follows the verdict and leaves with Ready") {
  Bench bench;
  const auto worker = bench.add("http://w");
  CHECK_FALSE(bench.registry->set_overloaded(*worker, true));
  bench.registry->ready_when_published(worker);
  bench.registry->publish();
  CHECK(bench.registry->set_overloaded(*worker, true));
  CHECK(bench.overloaded(*worker));
  CHECK(bench.registry->set_overloaded(*worker, false));
  CHECK_FALSE(bench.overloaded(*worker));
  bench.registry->set_overloaded(*worker, true);
  bench.registry->set_status(*worker, SMG_STATUS_NOT_READY);
  CHECK_FALSE(bench.overloaded(*worker));
}

TEST_CASE("overload 4.2, 4.4: whatever moves the flag is told as a change of the verdict") {
  Bench bench;
  std::string told;
  bench.bus.subscribe({.name = "test",
                       .types = SMG_EVENT_MASK(SMG_EVENT_VERDICT_CHANGED),
                       .fn =
                           [](void* context, const smg_event* event) {
                             const auto& change = *reinterpret_cast<const smg_event_change*>(event);
                             *static_cast<std::string*>(context) += change.after != 0 ? '+' : '-';
                           },
                       .context = &told});
  auto worker = bench.add("http://w");
  bench.registry->ready_when_published(worker);
  bench.registry->publish();
  bench.registry->set_overloaded(*worker, true);
  bench.registry->set_overloaded(*worker, true);
  bench.registry->set_overloaded(*worker, false);
  bench.registry->set_overloaded(*worker, true);
  bench.registry->set_status(*worker, SMG_STATUS_NOT_READY);
  bench.registry->set_status(*worker, SMG_STATUS_READY);
  bench.registry->set_overloaded(*worker, true);
  worker = bench.registry->replace(worker, worker->description());
  bench.registry->set_overloaded(*worker, true);
  bench.registry->remove(worker);
  bench.bus.stop();
  CHECK(told == "+-+-+-+-");
}

TEST_CASE("overload 4.5: a poll that ends late cannot flag the worker that took over") {
  Bench bench;
  const auto worker = bench.add("http://w");
  bench.registry->ready_when_published(worker);
  bench.registry->publish();
  bench.registry->set_overloaded(*worker, true);
  const auto fresh = bench.registry->replace(worker, worker->description());
  CHECK_FALSE(bench.overloaded(*fresh));
  CHECK_FALSE(bench.registry->set_overloaded(*worker, true));
  CHECK_FALSE(bench.overloaded(*fresh));
  CHECK(bench.registry->set_overloaded(*fresh, true));
  CHECK(bench.overloaded(*fresh));
}

TEST_CASE(
    "overload 4.6: the count of flagged workers is kept per model, the flag shown per worker") {
  Bench bench;
  const auto one = bench.add("http://a");
  const auto two = bench.add("http://b");
  for (const auto& worker : {one, two}) bench.registry->ready_when_published(worker);
  bench.registry->publish();
  const auto count = [&] { return bench.families.workers_overloaded.with({"m"}).value(); };
  const auto shown = [&](const char* url) {
    return bench.families.worker_overloaded.with({url}).value();
  };
  CHECK(shown("http://a") == 0);
  bench.registry->set_overloaded(*one, true);
  bench.registry->set_overloaded(*one, true);
  CHECK(count() == 1);
  CHECK(shown("http://a") == 1);
  CHECK(shown("http://b") == 0);
  bench.registry->set_overloaded(*two, true);
  CHECK(count() == 2);
  bench.registry->remove(two);
  CHECK(count() == 1);
  CHECK(shown("http://b") == 0);
  bench.registry->set_overloaded(*one, false);
  CHECK(count() == 0);
  CHECK(shown("http://a") == 0);
}

TEST_CASE("a transport goes on to call a worker by the ref that it was shown") {
  Bench bench;
  const auto worker = bench.add("http://w");
  const std::uint64_t shown = worker->view().ref;
  const auto patched = bench.registry->replace(worker, worker->description());
  CHECK(bench.registry->find(shown) == nullptr);
  CHECK(bench.registry->served(shown) == patched);
  CHECK(bench.registry->served(patched->view().ref) == patched);
  bench.registry->remove(patched);
  CHECK(bench.registry->served(shown) == nullptr);
}

TEST_CASE("what runs on a worker counts until the endpoint that began it is closed") {
  Bench bench;
  auto worker = bench.add("http://w");
  const std::uint64_t shown = worker->view().ref;
  const auto runtime = worker->runtime();
  std::string error;
  auto candidate = bench.registry->reopen(*worker, worker->description(), bench.transport, error);
  const auto fresh = bench.registry->replace(worker, worker->description(), std::move(candidate));
  CHECK(bench.registry->served(shown) == nullptr);
  CHECK(bench.registry->runtime_of(shown) == runtime);
  CHECK(bench.registry->runtime_of(fresh->view().ref) == runtime);
  worker.reset();
  while (bench.registry->runtime_of(shown) != nullptr) std::this_thread::yield();
  CHECK(bench.registry->runtime_of(fresh->view().ref) == runtime);
}
