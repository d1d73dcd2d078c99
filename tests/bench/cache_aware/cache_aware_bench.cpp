// What a decision of cache_aware costs: the call into the library, with prompts of which three
// quarters are shared with many others.
//
// p50 and p99 are of single calls, in microseconds, mean over threads. Modes: text and tokens (by
// tree), events, hash; `busy` is text on a fleet where everybody has 80 to 120 requests in flight,
// so that the spill gate has to find the mean; `miss` is text that nobody has seen.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "cache_aware.hpp"
#include "fake_pool.hpp"
#include "option_defaults.hpp"
#include "quiet_host.hpp"

namespace {

using namespace smg::test;

enum Mode { kText, kTokens, kEvents, kHash, kBusy, kMiss };
constexpr std::uint32_t kLoops = 9;
constexpr std::uint32_t kFamilies = 256;
constexpr std::uint32_t kBlock = 16;

// Three quarters of the prompt are its family's.
std::vector<std::uint32_t> family_prompt(std::uint32_t family, std::size_t size) {
  std::mt19937 random(family);
  std::vector<std::uint32_t> prompt(size);
  for (auto& each : prompt) each = static_cast<std::uint32_t>(random() % 100'000);
  return prompt;
}

class Bench {
 public:
  Bench(Mode of_mode, std::size_t prompt_bytes, std::uint32_t workers)
      : mode(of_mode), bytes(prompt_bytes), host_(kLoops), fleet_(workers), pool_(fleet_.pool()) {
    host_.time = 1'000'000'000'000;
    set_defaults(host_);
    if (mode == kHash) {
      host_.strings["cache_index"] = "hash";
      host_.strings["cache_boundaries"] = "256,512,1024,4096";
    }
    policy_ = std::make_unique<cache_aware::CacheAware>(smg::Host(host_.quiet()));
    policy_->pool_changed(nullptr, pool_->raw());
    std::mt19937 random(1);
    for (std::uint32_t i = 0; i < workers; ++i) {
      fleet_.report(i, 0, static_cast<int>(random() % 1000), 2000, 0.5);
      fleet_.set_in_flight(
          i, static_cast<std::uint32_t>(mode == kBusy ? 80 + random() % 41 : random() % 60));
    }
    if (mode == kEvents) fill_index();
  }

  // Bytes of text, or a quarter as many tokens.
  std::size_t tokens() const { return bytes / 4; }

  std::optional<std::uint32_t> select(const std::vector<std::uint32_t>& prompt,
                                      std::uint64_t random) {
    smg_policy_request request{};
    request.struct_size = sizeof request;
    request.now = host_.time;
    request.random = random;
    if (mode == kTokens || mode == kEvents || mode == kHash) {
      request.tokens = prompt.data();
      request.token_count = prompt.size();
    } else {
      request.text = {reinterpret_cast<const char*>(prompt.data()), prompt.size() * 4};
    }
    return policy_->select(smg::Request(request), smg::Pool(*pool_->raw()));
  }

  const Mode mode;
  const std::size_t bytes;

 private:
  // Everybody holds the first 16 blocks, eight workers each family's prompt.
  void fill_index() {
    std::uint64_t hash = 1;
    const auto store = [&](std::uint32_t worker, const std::vector<std::uint32_t>& prompt) {
      std::vector<std::uint64_t> blocks(prompt.size() / kBlock);
      for (auto& block : blocks) block = hash++;
      smg_event_kv event{};
      event.event.struct_size = sizeof event;
      event.event.type = SMG_EVENT_KV_BLOCKS;
      event.event.worker_url = fleet_.worker(worker).url;
      event.action = SMG_KV_STORED;
      event.blocks = blocks.data();
      event.block_count = blocks.size();
      event.tokens = prompt.data();
      event.token_count = prompt.size();
      event.block_size = kBlock;
      host_.publish(event.event);
    };
    for (std::uint32_t i = 0; i < fleet_.size(); ++i) store(i, shared(family_prompt(0, 256)));
    for (std::uint32_t family = 0; family < kFamilies; ++family) {
      auto prompt = shared(family_prompt(family, tokens()));
      prompt.resize(prompt.size() * 3 / 4);
      for (std::uint32_t i = 0; i < 8; ++i) store((family * 8 + i) % fleet_.size(), prompt);
    }
  }

 public:
  // The first 256 tokens of every prompt with events are the same.
  static std::vector<std::uint32_t> shared(std::vector<std::uint32_t> prompt) {
    const auto system = family_prompt(100'000, 256);
    std::copy_n(system.begin(), std::min(prompt.size(), system.size()), prompt.begin());
    return prompt;
  }

 private:
  QuietHost host_;
  FakeFleet fleet_;
  std::unique_ptr<FakePool> pool_;
  std::unique_ptr<cache_aware::CacheAware> policy_;
};

std::unique_ptr<Bench> g_bench;

double percentile(std::vector<double>& samples, double part) {
  if (samples.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(samples.size() - 1));
  std::nth_element(samples.begin(), samples.begin() + at, samples.end());
  return samples[static_cast<std::size_t>(at)];
}

void decide(benchmark::State& state, Mode mode) {
  const OnLoop on(static_cast<std::uint32_t>(state.thread_index()));
  if (state.thread_index() == 0) {
    g_bench = std::make_unique<Bench>(mode, static_cast<std::size_t>(state.range(0)),
                                      static_cast<std::uint32_t>(state.range(1)));
  }
  std::vector<std::vector<std::uint32_t>> prompts;
  std::mt19937_64 random(static_cast<std::uint64_t>(state.thread_index()) + 1);
  std::vector<double> samples;
  for (auto _ : state) {
    if (prompts.empty()) {
      for (std::uint32_t i = 0; i < kFamilies; ++i) {
        prompts.push_back(Bench::shared(family_prompt(i, g_bench->tokens())));
        g_bench->select(prompts.back(), random());
      }
    }
    std::vector<std::uint32_t>& prompt = prompts[random() % kFamilies];
    const std::size_t from = mode == kMiss ? 0 : prompt.size() * 3 / 4;
    for (std::size_t i = from; i < from + 16; ++i) {
      prompt[i] = static_cast<std::uint32_t>(random());
    }
    const std::uint64_t bits = random();
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(g_bench->select(prompt, bits));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(took.count());
    samples.push_back(took.count() * 1e6);
  }
  state.counters["p50_us"] =
      benchmark::Counter(percentile(samples, 0.50), benchmark::Counter::kAvgThreads);
  state.counters["p99_us"] =
      benchmark::Counter(percentile(samples, 0.99), benchmark::Counter::kAvgThreads);
  if (state.thread_index() == 0) g_bench.reset();
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgsProduct({{4096, 32768}, {8, 256, 10'000}})
      ->ArgNames({"bytes", "workers"})
      ->Threads(1)
      ->Threads(2)
      ->Threads(8)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

BENCHMARK_CAPTURE(decide, text, kText)->Apply(sizes);
BENCHMARK_CAPTURE(decide, tokens, kTokens)->Apply(sizes);
BENCHMARK_CAPTURE(decide, events, kEvents)->Apply(sizes);
BENCHMARK_CAPTURE(decide, hash, kHash)->Apply(sizes);
BENCHMARK_CAPTURE(decide, busy, kBusy)->Apply(sizes);
BENCHMARK_CAPTURE(decide, miss, kMiss)->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
