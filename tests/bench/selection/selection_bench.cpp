// What choosing a worker costs: pool look-up, policy call across its library, check of the answer.
// Counts allocations.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <thread>

#include "host/base/views.hpp"
#include "host/fleet/registry.hpp"
#include "host/loop/loop_service.hpp"
#include "host/plugin/instance.hpp"
#include "host/plugin/registry.hpp"
#include "host/routing/random.hpp"
#include "host/routing/selection.hpp"

namespace {

std::atomic<std::uint64_t> g_allocations{0};

}  // namespace

// Not inlined: the compiler would take free() in one for a mismatch with the other.
[[gnu::noinline]] void* operator new(std::size_t size) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace {

using namespace smg;

// A fleet of workers that are ready and reachable by nobody: selection never talks to them.
class Fleet {
 public:
  Fleet(const std::string& policy_name, std::size_t workers)
      : loops_(1),
        metrics_({.loops = 2}),
        families_(metrics_),
        bus_(Loop::clock),
        endpoints_(loops_),
        resolver_(loops_) {
    install_loop_service(&loops_, &resolver_);
    std::string error;
    run_dir_ = RunDir::make("", error);
    plugins_ = std::make_unique<PluginRegistry>(*run_dir_);
    const std::string paths[] = {SMG_PLUGIN_DIR};
    plugins_->load_all(paths);
    HostServices services = HostServices::basic();
    services.loop = &loop_service();
    policy_ = PluginInstance::create(plugins_->find(SMG_KIND_POLICY, policy_name), services, {},
                                     nullptr, error);
    if (policy_ == nullptr) std::abort();
    ref_.api = &policy_->policy();
    ref_.self = policy_->self();
    ref_.name = policy_name;
    transport_.open = [](void*, const smg_worker*, void** endpoint, smg_error*) -> smg_status {
      *endpoint = nullptr;
      return SMG_OK;
    };
    transport_.quiesce = transport_.close = [](void*) {};
    transport_ref_.api = &transport_;
    loops_.start([](Loop& loop) { Metrics::bind_thread(loop.index()); });
    registry_ = std::make_unique<Registry>(
        endpoints_, families_, bus_, [this](std::string_view) { return &ref_; }, [] {});
    for (std::size_t i = 0; i < workers; ++i) {
      WorkerDescription description;
      description.url = "http://worker-" + std::to_string(i) + ":8000";
      description.models = {"meta-llama/Llama-3.1-8B-Instruct"};
      description.id = description.url;
      auto candidate = registry_->open(description, transport_ref_, error);
      const auto worker = registry_->add(std::move(*candidate), description);
      registry_->set_status(*worker, SMG_STATUS_READY);
    }
    registry_->publish();
  }
  ~Fleet() {
    registry_->remove_all();
    registry_.reset();
    while (!endpoints_.all_closed()) std::this_thread::yield();
    policy_.reset();
    loops_.stop();
  }
  // The benchmark's body on a loop thread, where policies keep their caches.
  void on_loop(const std::function<void()>& body) { loops_.run_on(0, body); }
  Registry& registry() { return *registry_; }

 private:
  LoopGroup loops_;
  Metrics metrics_;
  Families families_;
  Bus bus_;
  Endpoints endpoints_;
  Resolver resolver_;
  std::unique_ptr<RunDir> run_dir_;
  std::unique_ptr<PluginRegistry> plugins_;
  std::unique_ptr<PluginInstance> policy_;
  PolicyRef ref_;
  smg_transport_api transport_{};
  TransportRef transport_ref_;
  std::unique_ptr<Registry> registry_;
};

void choose(benchmark::State& state, const std::string& policy) {
  Fleet fleet(policy, static_cast<std::size_t>(state.range(0)));
  std::uint64_t allocations = 0;
  fleet.on_loop([&] {
    const auto snapshot = fleet.registry().snapshot();
    Random random(1);
    smg_policy_request request{};
    request.struct_size = sizeof request;
    const auto once = [&] {
      request.random = random.next();
      const Pool* pool = snapshot->find("meta-llama/Llama-3.1-8B-Instruct");
      return select_worker(*pool, request, false).index;
    };
    benchmark::DoNotOptimize(once());  // the first call scans
    const std::uint64_t before = g_allocations.load();
    for (auto _ : state) benchmark::DoNotOptimize(once());
    allocations = g_allocations.load() - before;
  });
  // The benchmark's own book-keeping may allocate a few times; one per selection would be as many
  // as iterations.
  state.counters["allocations_per_selection"] =
      static_cast<double>(allocations) / static_cast<double>(state.iterations());
}

BENCHMARK_CAPTURE(choose, round_robin, std::string("round_robin"))->Arg(3)->Arg(256)->Arg(10'000);
BENCHMARK_CAPTURE(choose, random, std::string("random"))->Arg(3)->Arg(256)->Arg(10'000);

}  // namespace

BENCHMARK_MAIN();
