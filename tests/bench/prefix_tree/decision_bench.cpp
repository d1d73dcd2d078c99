// What a decision costs in a full tree: match, choice and insert of a prompt that is known but for
// its last eighth. Arguments: units of the prompt. Writing the prompts is not counted.
#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <mutex>

#include "conversations.hpp"

namespace {

using namespace smg::prefix_tree;
using namespace smg::prefix_tree::bench;

constexpr std::size_t kPrepared = 256;

template <class Tree>
struct Full {
  explicit Full(std::size_t units) : conversations(units) {
    bytes_per_unit = conversations.fill(kTreeUnits);
  }
  Conversations<Tree> conversations;
  double bytes_per_unit;
};

// One at a time: they are large.
template <class Tree>
Full<Tree>& full_tree(std::size_t units) {
  static std::mutex mutex;
  static std::map<std::size_t, std::unique_ptr<Full<Tree>>> trees;
  const std::lock_guard lock(mutex);
  auto& tree = trees[units];
  if (!tree) {
    std::erase_if(trees, [](const auto& each) { return each.second != nullptr; });
    tree = std::make_unique<Full<Tree>>(units);
  }
  return *tree;
}

template <class Tree>
void decide(benchmark::State& state) {
  Full<Tree>& full = full_tree<Tree>(static_cast<std::size_t>(state.range(0)));
  if (state.thread_index() == 0) full.conversations.tree().evict(kTreeUnits);
  Numbers numbers(static_cast<uint64_t>(state.thread_index()));
  std::vector<typename Conversations<Tree>::Prompt> prompts(kPrepared);
  std::size_t next = kPrepared;
  Times times;
  for (auto _ : state) {
    if (next == kPrepared) {
      state.PauseTiming();
      for (auto& prompt : prompts) full.conversations.next_turn(prompt, numbers);
      next = 0;
      state.ResumeTiming();
    }
    times.measure([&] { full.conversations.decide(prompts[next], numbers.next()); });
    ++next;
  }
  state.SetItemsProcessed(state.iterations());
  using benchmark::Counter;
  state.counters["p50_us"] = Counter(times.quantile(0.5) / 1e3, Counter::kAvgThreads);
  state.counters["p99_us"] = Counter(times.quantile(0.99) / 1e3, Counter::kAvgThreads);
  state.counters["bytes_per_unit"] = Counter(full.bytes_per_unit, Counter::kAvgThreads);
}

BENCHMARK_TEMPLATE(decide, StringTree)
    ->ArgsProduct({{4 << 10, 32 << 10}})
    ->Iterations(5000)
    ->UseRealTime()
    ->Threads(1)
    ->Threads(2)
    ->Threads(8);
BENCHMARK_TEMPLATE(decide, TokenTree)
    ->ArgsProduct({{1 << 10, 8 << 10}})
    ->Iterations(5000)
    ->UseRealTime()
    ->Threads(1)
    ->Threads(2)
    ->Threads(8);

}  // namespace
