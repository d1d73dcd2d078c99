// What a change of a metric costs on a loop thread, and on any other one.
#include <benchmark/benchmark.h>

#include <array>
#include <string>

#include "host/metrics/exposition.hpp"
#include "host/metrics/families.hpp"

namespace {

struct Fixture {
  smg::Metrics metrics{{.loops = 2}};
  smg::Families families{metrics};
  smg::Series counter = families.http_requests.with({"POST", "/v1/chat/completions"});
  smg::Series histogram = families.http_request_duration.with({"POST", "/v1/chat/completions"});
  smg::Series gauge = families.worker_health.with({"http://w:1"});
};

Fixture& fixture() {
  static Fixture one;
  return one;
}

void add_on_loop(benchmark::State& state) {
  const auto series = fixture().counter;
  smg::Metrics::bind_thread(static_cast<std::uint32_t>(state.thread_index()));
  for (auto _ : state) {
    series.add();
    benchmark::ClobberMemory();
  }
  smg::Metrics::unbind_thread();
}
BENCHMARK(add_on_loop)->Threads(1)->Threads(2);

// Several counters by turns, as requests do: no addition waits for the one before it.
void add_by_turns_on_loop(benchmark::State& state) {
  std::array<smg::Series, 8> series;
  for (std::size_t i = 0; i < series.size(); ++i) {
    series[i] = fixture().families.http_requests.with({"GET", std::to_string(i)});
  }
  smg::Metrics::bind_thread(0);
  for (auto _ : state) {
    for (const auto& one : series) one.add();
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(series.size()));
  smg::Metrics::unbind_thread();
}
BENCHMARK(add_by_turns_on_loop);

void add_elsewhere(benchmark::State& state) {
  const auto series = fixture().counter;
  for (auto _ : state) {
    series.add();
    benchmark::ClobberMemory();
  }
}
BENCHMARK(add_elsewhere)->Threads(1)->Threads(2);

void observe_on_loop(benchmark::State& state) {
  const auto series = fixture().histogram;
  smg::Metrics::bind_thread(0);
  double value = 0.0005;
  for (auto _ : state) {
    series.observe(value);
    value = value > 100 ? 0.0005 : value * 1.7;
    benchmark::ClobberMemory();
  }
  smg::Metrics::unbind_thread();
}
BENCHMARK(observe_on_loop);

void set_gauge(benchmark::State& state) {
  const auto series = fixture().gauge;
  for (auto _ : state) {
    series.set(1);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(set_gauge);

void look_up(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        fixture().families.http_requests.with({"POST", "/v1/chat/completions"}));
  }
}
BENCHMARK(look_up);

void scrape(benchmark::State& state) {
  for (int i = 0; i < 500; ++i) {
    fixture().families.http_request_duration.with({"GET", std::to_string(i)});
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(smg::exposition_text(fixture().metrics));
  }
}
BENCHMARK(scrape)->Unit(benchmark::kMillisecond);

}  // namespace
