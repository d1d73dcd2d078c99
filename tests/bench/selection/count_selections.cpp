// smg-select POLICY WORKERS off|steer|shed: makes selections in a function that callgrind can be
// told to count, with protection off, or on with nobody over its ceilings.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "host/fleet/overload.hpp"
#include "host/routing/random.hpp"
#include "host/routing/selection.hpp"
#include "idle_fleet.hpp"

namespace {

constexpr int kSelections = 1000;

}  // namespace

extern "C" [[gnu::noinline]] std::uint64_t smg_counted_selections(const smg::Pool& pool,
                                                                  bool shed) {
  smg::Random random(1);
  smg_policy_request request{};
  request.struct_size = sizeof request;
  std::uint64_t sum = 0;
  for (int i = 0; i < kSelections; ++i) {
    request.random = random.next();
    sum += smg::select_worker(pool, request, shed).index;
  }
  return sum;
}

int main(int argc, char** argv) {
  const std::string_view protection = argc == 4 ? argv[3] : "";
  if (protection != "off" && protection != "steer" && protection != "shed") {
    std::fprintf(stderr, "smg-select POLICY WORKERS off|steer|shed\n");
    return 2;
  }
  smg::Ceilings ceilings;
  if (protection != "off") ceilings = {.waiting_requests = 8, .token_usage = 0.8};
  smg::IdleFleet fleet(argv[1], static_cast<std::size_t>(std::atoi(argv[2])));
  fleet.on_loop([&] {
    const auto snapshot = fleet.registry().snapshot();
    for (const auto& worker : snapshot->workers) {
      if (protection == "off") continue;
      fleet.registry().set_overloaded(*worker, smg::is_overloaded({}, ceilings));
    }
    // In the first selection policies scan the pool: it is not counted.
    smg::Random random(7);
    smg_policy_request first{};
    first.struct_size = sizeof first;
    first.random = random.next();
    const smg::Pool& pool = *snapshot->find("meta-llama/Llama-3.1-8B-Instruct");
    const bool shed = protection == "shed";
    if (smg::select_worker(pool, first, shed).verdict != smg::Verdict::chosen) std::abort();
    std::printf("%llu\n", static_cast<unsigned long long>(smg_counted_selections(pool, shed)));
  });
  return 0;
}
