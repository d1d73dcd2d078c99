// What choosing a worker costs: pool look-up, policy call across its library, check of the answer.
// Counts allocations.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "host/base/views.hpp"
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

// Requests with one of 10,000 routing keys and prompts of up to 8192 tokens, for policies that look
// at them.
void choose(benchmark::State& state, const std::string& policy) {
  const std::uint32_t type = policy == "bucket" ? SMG_WORKER_PREFILL : SMG_WORKER_REGULAR;
  IdleFleet fleet(policy, static_cast<std::size_t>(state.range(0)), type);
  std::vector<std::string> keys;
  for (int i = 0; i < 10'000; ++i) keys.push_back("conversation-" + std::to_string(i));
  const std::vector<std::uint32_t> tokens(8192);
  std::uint64_t allocations = 0;
  fleet.on_loop([&] {
    const auto snapshot = fleet.registry().snapshot();
    Random random(1);
    smg_policy_request request{};
    request.struct_size = sizeof request;
    request.tokens = tokens.data();
    const auto with_key = [&](std::size_t i) {
      request.random = random.next();
      request.routing_key = view(keys[i]);
      request.token_count = request.random % tokens.size();
      const Pool* pool = snapshot->find("meta-llama/Llama-3.1-8B-Instruct");
      return select_worker(*pool, request, false).index;
    };
    // The first calls scan the pool and pin the keys.
    const std::size_t first = policy == "manual" ? keys.size() : 1;
    for (std::size_t i = 0; i < first; ++i) benchmark::DoNotOptimize(with_key(i));
    const std::uint64_t before = g_allocations.load();
    for (auto _ : state) {
      benchmark::DoNotOptimize(with_key(random.next() % keys.size()));
    }
    allocations = g_allocations.load() - before;
  });
  // The benchmark's own book-keeping may allocate a few times; one per selection would be as many
  // as iterations.
  state.counters["allocations_per_selection"] =
      static_cast<double>(allocations) / static_cast<double>(state.iterations());
}

#define SMG_CHOOSE(policy) \
  BENCHMARK_CAPTURE(choose, policy, std::string(#policy))->Arg(8)->Arg(256)->Arg(10'000)
SMG_CHOOSE(random);
SMG_CHOOSE(round_robin);
SMG_CHOOSE(passthrough);
SMG_CHOOSE(power_of_two);
SMG_CHOOSE(least_load);
SMG_CHOOSE(manual);
SMG_CHOOSE(bucket);

}  // namespace

BENCHMARK_MAIN();
