// An eviction run from 1.25 times the budget, and what a thread that decides sees of it: compare
// its times with those of the same thread before the run, and those of calls during which the
// machine has not taken the CPU away.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>

#include "conversations.hpp"

namespace {

using namespace smg::prefix_tree;
using namespace smg::prefix_tree::bench;

long preemptions() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

struct Seen {
  Times times;
  double longest = 0;              // us
  double longest_undisturbed = 0;  // us, of the calls without a preemption

  void report(benchmark::State& state, const std::string& when) {
    state.counters[when + "_p99.9_us"] = times.quantile(0.999) / 1e3;
    state.counters[when + "_max_us"] = longest;
    state.counters[when + "_max_undisturbed_us"] = longest_undisturbed;
    state.counters[when + "_calls"] = static_cast<double>(times.size());
  }
};

template <class Tree, class Go>
Seen decide_while(Conversations<Tree>& conversations, uint64_t seed, Go go) {
  Seen seen;
  Numbers numbers(seed);
  typename Conversations<Tree>::Prompt prompt;
  while (go()) {
    conversations.next_turn(prompt, numbers);
    const long before = preemptions();
    seen.times.measure([&] { conversations.decide(prompt, numbers.next()); });
    const double us = seen.times.last() / 1e3;
    seen.longest = std::max(seen.longest, us);
    if (preemptions() == before) seen.longest_undisturbed = std::max(seen.longest_undisturbed, us);
  }
  return seen;
}

template <class Tree>
void evict(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  Conversations<Tree> conversations(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    conversations.fill(kTreeUnits / 4 * 5);
    const auto end = Clock::now() + std::chrono::milliseconds(200);
    Seen without = decide_while(conversations, 1, [&] { return Clock::now() < end; });
    std::atomic<bool> running{true};
    const auto begin = Clock::now();
    Clock::time_point done;
    std::thread evictor([&] {
      conversations.tree().evict(kTreeUnits);
      done = Clock::now();
      running = false;
    });
    Seen during = decide_while(conversations, 2, [&] { return running.load(); });
    evictor.join();
    state.SetIterationTime(std::chrono::duration<double>(done - begin).count());
    without.report(state, "without");
    during.report(state, "during");
  }
}

BENCHMARK_TEMPLATE(evict, StringTree)
    ->Arg(4 << 10)
    ->Iterations(1)
    ->Repetitions(3)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(evict, TokenTree)
    ->Arg(1 << 10)
    ->Iterations(1)
    ->Repetitions(3)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
