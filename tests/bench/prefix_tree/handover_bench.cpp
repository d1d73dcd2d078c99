// A tree of 64 Mi units handed over: how long it takes to write it and to read it, and how large
// the state is, in bytes for each unit and against the memory of the tree.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "conversations.hpp"
#include "smg/cpp/handover.hpp"

namespace {

using namespace smg::prefix_tree;
using namespace smg::prefix_tree::bench;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

template <class Tree>
void hand_over(benchmark::State& state) {
  Conversations<Tree> conversations(static_cast<std::size_t>(state.range(0)));
  const double tree_bytes = conversations.fill(kTreeUnits);
  std::vector<Tenant> tenants;
  for (uint32_t slot = 0; slot < kWorkers; ++slot) tenants.push_back({slot, 1});
  for (auto _ : state) {
    std::string bytes;
    const smg_state_writer raw{
        sizeof raw, 0, &bytes, [](const smg_state_writer* writer, const void* data, uint64_t size) {
          static_cast<std::string*>(writer->context)->append(static_cast<const char*>(data), size);
          return SMG_OK;
        }};
    smg::StateWriter writer(raw);
    const auto begin = Clock::now();
    conversations.tree().export_state(writer,
                                      [](Tenant tenant) { return std::optional(tenant.slot); });
    writer.flush();
    state.counters["export_s"] = seconds_since(begin);
    Tree next;
    for (const Tenant tenant : tenants) next.add_tenant(tenant);
    const auto half = Clock::now();
    smg::StateReader reader(bytes);
    next.import_state(reader, tenants);
    state.counters["import_s"] = seconds_since(half);
    if (next.size() != conversations.tree().size()) state.SkipWithError("the trees differ");
    const auto units = static_cast<double>(next.size());
    state.counters["bytes_per_unit"] = static_cast<double>(bytes.size()) / units;
    state.counters["of_the_tree"] = static_cast<double>(bytes.size()) / (tree_bytes * units);
  }
}

BENCHMARK_TEMPLATE(hand_over, StringTree)
    ->Arg(512)
    ->Arg(4 << 10)
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(hand_over, TokenTree)
    ->Arg(1 << 10)
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

}  // namespace
