// What choosing a worker costs: pool look-up, policy call across its library, check of the answer.
// Counts allocations.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "host/routing/random.hpp"
#include "host/routing/selection.hpp"
#include "idle_fleet.hpp"

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

void choose(benchmark::State& state, const std::string& policy) {
  IdleFleet fleet(policy, static_cast<std::size_t>(state.range(0)));
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
