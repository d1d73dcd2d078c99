// What a hash ring costs to make, to update and to look up in, and what a selection costs in the
// policies on it, across their libraries. The clock, options and loops are fakes, metrics one
// addition each.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "fake_policy.hpp"
#include "fake_pool.hpp"
#include "hash_ring.hpp"

namespace {

using namespace smg;
using namespace smg::test;

constexpr std::size_t kRequests = 4096;  // different ones, in turn

std::vector<std::string> some_urls(std::size_t count) {
  std::vector<std::string> urls;
  for (std::size_t i = 0; i < count; ++i) {
    urls.push_back("http://worker-" + std::to_string(i) + ":8000");
  }
  return urls;
}

std::vector<std::string_view> views_of(const std::vector<std::string>& urls) {
  return {urls.begin(), urls.end()};
}

std::vector<std::string> some_keys() {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < kRequests; ++i) keys.push_back("user-" + std::to_string(i * 7919));
  return keys;
}

void ring_build(benchmark::State& state) {
  const auto urls = some_urls(static_cast<std::size_t>(state.range(0)));
  const auto views = views_of(urls);
  for (auto _ : state) benchmark::DoNotOptimize(HashRing(views));
}

// One worker leaves and another comes.
void ring_update(benchmark::State& state) {
  const auto urls = some_urls(static_cast<std::size_t>(state.range(0)) + 1);
  auto views = views_of(urls);
  const std::string_view newcomer = views.back();
  views.pop_back();
  const HashRing before(views);
  views.erase(views.begin());
  views.push_back(newcomer);
  for (auto _ : state) benchmark::DoNotOptimize(HashRing(views, before));
}

void ring_find(benchmark::State& state) {
  const auto urls = some_urls(static_cast<std::size_t>(state.range(0)));
  const HashRing ring(views_of(urls));
  const auto keys = some_keys();
  Visited visited;
  std::size_t i = 0;
  for (auto _ : state) {
    const uint64_t position = HashRing::position_of(keys[i++ % kRequests]);
    benchmark::DoNotOptimize(ring.find(position, visited, [](uint32_t) { return true; }));
  }
}

// The fake host, but with metrics that cost next to nothing, as the gateway's do.
class BenchHost : public FakeHost {
 public:
  BenchHost() {
    floats["bounded_load_factor"] = 0;
    ints["prefix_token_count"] = 256;
    floats["load_factor"] = 1.25;
    ints["balance_abs_threshold"] = 10;
    strings["cache_boundaries"] = "";
    auto* raw = const_cast<smg_host*>(FakeHost::raw());
    fake_service_ = raw->service;
    raw->service = service;
  }

 private:
  static const void* service(const smg_host* host, const char* id) {
    if (std::string_view(id) == SMG_SERVICE_METRICS) return &kMetrics;
    const auto* self = static_cast<BenchHost*>(static_cast<FakeHost*>(host->context));
    return self->fake_service_(host, id);
  }

  static constexpr smg_metrics_service kMetrics = {
      sizeof(smg_metrics_service),
      0,
      [](const smg_host*, std::uint32_t, smg_view, smg_view, const smg_view*, std::uint32_t,
         const double*, std::uint32_t, std::uint64_t*) { return SMG_OK; },
      [](const smg_host*, std::uint64_t, const smg_view*, std::uint32_t, std::uint64_t*) {
        return SMG_OK;
      },
      [](const smg_host*, std::uint64_t, double value) { benchmark::DoNotOptimize(value += 1); },
      nullptr,
      nullptr};

  const void* (*fake_service_)(const smg_host*, const char*);
};

enum class Fleet { idle, busy, half_down };

// Requests with as many tokens; none: with a routing key instead.
void select(benchmark::State& state, const char* library, Fleet kind, std::uint64_t tokens) {
  const OnLoop on(0);
  BenchHost host;
  if (kind == Fleet::busy) host.floats["bounded_load_factor"] = 1.25;
  const LoadedPolicy policy(library, host);
  FakeFleet fleet(static_cast<std::uint32_t>(state.range(0)));
  for (std::uint32_t i = 0; i < fleet.size(); ++i) {
    if (kind == Fleet::half_down && i % 2 == 1) fleet.down(i);
    if (kind == Fleet::busy) fleet.set_in_flight(i, 40 + i * 7919 % 60);
  }
  const auto pool = fleet.pool();
  policy.pool_changed(nullptr, pool->raw());
  const auto keys = some_keys();
  std::vector<std::uint32_t> ids(kRequests + tokens);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::uint32_t>(i * 7919);
  smg_policy_request request{};
  request.struct_size = sizeof request;
  request.token_count = tokens;
  std::size_t i = 0;
  std::uint32_t index = 0;
  for (auto _ : state) {
    ++i;
    if (tokens == 0) request.routing_key = view_of(keys[i % kRequests]);
    request.tokens = ids.data() + i % kRequests;
    if (policy.api().select(policy.self(), &request, pool->raw(), &index) != SMG_OK) {
      state.SkipWithError("no choice");
    }
    benchmark::DoNotOptimize(index);
  }
}

// What the control thread pays when one of the workers leaves and returns.
void membership(benchmark::State& state) {
  BenchHost host;
  const LoadedPolicy policy(SMG_CONSISTENT_HASHING, host);
  FakeFleet fleet(static_cast<std::uint32_t>(state.range(0)));
  std::vector<std::uint32_t> most;
  for (std::uint32_t i = 1; i < fleet.size(); ++i) most.push_back(i);
  std::unique_ptr<FakePool> before = fleet.pool();
  policy.pool_changed(nullptr, before->raw());
  bool all = false;
  for (auto _ : state) {
    auto after = all ? fleet.pool() : fleet.pool(most);
    policy.pool_changed(before->raw(), after->raw());
    before = std::move(after);
    all = !all;
  }
}

BENCHMARK(ring_build)->Arg(8)->Arg(256)->Arg(10'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(ring_update)->Arg(8)->Arg(256)->Arg(10'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(membership)->Arg(8)->Arg(256)->Arg(10'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(ring_find)->Arg(8)->Arg(256)->Arg(10'000);

#define SMG_SELECT(name, ...) \
  BENCHMARK_CAPTURE(select, name, __VA_ARGS__)->Arg(8)->Arg(256)->Arg(10'000)
SMG_SELECT(consistent_hashing, SMG_CONSISTENT_HASHING, Fleet::idle, 0);
SMG_SELECT(consistent_hashing_half_down, SMG_CONSISTENT_HASHING, Fleet::half_down, 0);
SMG_SELECT(consistent_hashing_bounded, SMG_CONSISTENT_HASHING, Fleet::busy, 0);
SMG_SELECT(prefix_hash_routing_key, SMG_PREFIX_HASH, Fleet::idle, 0);
SMG_SELECT(prefix_hash_256_tokens, SMG_PREFIX_HASH, Fleet::idle, 256);
SMG_SELECT(prefix_hash_256_tokens_busy, SMG_PREFIX_HASH, Fleet::busy, 256);

}  // namespace

BENCHMARK_MAIN();
