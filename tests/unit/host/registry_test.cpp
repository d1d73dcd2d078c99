#include "host/fleet/registry.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "host/fleet/endpoint.hpp"

using namespace smg;

namespace {

// A registry whose changes are published when the test says so, over a transport that does nothing.
struct Bench {
  Bench()
      : loops(1),
        metrics({.loops = loops.count()}),
        families(metrics),
        bus(Loop::clock, nullptr),
        endpoints(loops) {
    policy_api.struct_size = sizeof policy_api;
    policy.api = &policy_api;
    policy.name = "p";
    transport_api.open = [](void*, const smg_worker*, void** endpoint, smg_error*) -> smg_status {
      *endpoint = nullptr;
      return SMG_OK;
    };
    transport_api.quiesce = transport_api.close = [](void*) {};
    transport.api = &transport_api;
    loops.start([](Loop& loop) { Metrics::bind_thread(loop.index()); });
    registry = std::make_unique<Registry>(
        endpoints, families, bus, [this](std::string_view) { return &policy; },
        [this] { ++asked; });
  }
  ~Bench() {
    registry->remove_all();
    registry.reset();
    while (!endpoints.all_closed()) std::this_thread::yield();
    loops.stop();
  }

  std::shared_ptr<Worker> add(const std::string& url, const std::string& model = "m") {
    WorkerDescription description;
    description.url = url;
    description.models = {model};
    std::string error;
    description.id = url;
    auto candidate = registry->open(description, transport, error);
    return registry->add(std::move(*candidate), description);
  }
  bool overloaded(const Worker& worker) const {
    return (worker.state() & SMG_STATE_OVERLOADED) != 0;
  }
  std::uint32_t status(const Worker& worker) const {
    return worker.state() & SMG_STATE_STATUS_MASK;
  }

  LoopGroup loops;
  Metrics metrics;
  Families families;
  Bus bus;
  Endpoints endpoints;
  smg_policy_api policy_api{};
  PolicyRef policy;
  smg_transport_api transport_api{};
  TransportRef transport;
  int asked = 0;
  std::unique_ptr<Registry> registry;
};

}  // namespace

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
