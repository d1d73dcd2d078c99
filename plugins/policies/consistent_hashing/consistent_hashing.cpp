// consistent_hashing: requests with the same key go to the same worker, as long as it may be
// chosen.
#include <array>

#include "load_bound.hpp"
#include "pool_rings.hpp"
#include "routing_headers.hpp"
#include "smg/cpp/eligible.hpp"
#include "smg/cpp/metrics.hpp"
#include "smg/cpp/options.hpp"
#include "smg/cpp/policy.hpp"
#include "smg/cpp/random.hpp"

namespace {

constexpr smg_option kOptions[] = {
    smg::float_option(
        "bounded_load_factor",
        {.initial = "0.0",
         .help = "Requests pass on to the next worker where the key's own has more in "
                 "flight than this many times the mean (1 or more); 0 never passes on",
         .minimum = 0,
         .maximum = 1e6,
         .flag = "consistent-hashing-bounded-load-factor"}),
};

enum Branch { kNoHealthyWorkers, kTargetHit, kTargetMiss, kKeyHit, kKeySpill, kRandom };

std::array<smg::Series, 6> branch_series(smg::Host host) {
  const auto family = smg::Metrics(host).counter("smg_consistent_hashing_policy_branch_total",
                                                 "Selections by how they were made", {"branch"});
  return {family.with({"no_healthy_workers"}), family.with({"target_worker_hit"}),
          family.with({"target_worker_miss"}), family.with({"routing_key_hit"}),
          family.with({"routing_key_spill"}),  family.with({"random_fallback"})};
}

double bounded_load_factor(smg::Host host) {
  const double factor = smg::Options(host).get_float("bounded_load_factor");
  if (factor > 0 && factor < 1) {
    throw smg::Error(SMG_E_INVALID, "bounded_load_factor = " + std::to_string(factor) +
                                        ": must be 0, or 1 or more; below 1 no worker has room");
  }
  return factor;
}

class ConsistentHashing {
 public:
  static constexpr uint32_t kNeeds = SMG_NEEDS_HEADERS | SMG_KEEPS_ROUTING_KEYS;

  explicit ConsistentHashing(smg::Host host)
      : bounded_load_factor_(bounded_load_factor(host)),
        branches_(branch_series(host)),
        eligible_(host),
        rings_(host) {}

  void pool_changed(const smg_pool* before, const smg_pool* after) {
    rings_.pool_changed(before, after);
  }

  std::optional<uint32_t> select(const smg::Request& request, const smg::Pool& pool) {
    const auto headers = consistent_hashing::read_headers(request.headers());
    std::string_view key = request.routing_key();
    if (key.empty()) key = headers.routing_key;
    if (key.empty()) key = headers.implicit_key;
    Branch branch{};
    const auto choice = eligible_.choose(pool, [&](const auto& entry) -> std::optional<uint32_t> {
      const Eligible& eligible = entry.indices;
      branch = kNoHealthyWorkers;
      if (eligible.empty()) return std::nullopt;
      if (headers.target_worker) {
        const auto target = consistent_hashing::parse_index(*headers.target_worker);
        const bool hit = target && *target < eligible.size();
        branch = hit ? kTargetHit : kTargetMiss;
        return hit ? std::optional(eligible[*target]) : std::nullopt;
      }
      if (!key.empty()) return owner_of(key, pool, eligible, branch);
      branch = kRandom;
      return eligible[smg::uniform(request.random(), static_cast<uint32_t>(eligible.size()))];
    });
    branches_[branch].add();
    return choice;
  }

 private:
  using Eligible = std::vector<uint32_t>;

  std::optional<uint32_t> owner_of(std::string_view key, const smg::Pool& pool,
                                   const Eligible& eligible, Branch& branch) {
    const uint64_t position = smg::HashRing::position_of(key);
    return rings_.with_ring(pool, [&](const smg::HashRing* ring, smg::Visited& visited) {
      branch = kKeyHit;
      if (ring == nullptr) return std::optional(eligible[position % eligible.size()]);
      consistent_hashing::LoadBound bound(bounded_load_factor_, pool, eligible);
      bool full = false;
      auto owner = ring->find(position, visited, [&](uint32_t index) {
        if (!pool.eligible(index)) return false;
        const bool room = bound.has_room(index);
        full = full || !room;
        return room;
      });
      if (owner && full) branch = kKeySpill;
      // Loads move during the walk: should it come too late everywhere, the key's own worker it is.
      if (!owner && full) {
        owner = ring->find(position, visited, [&](uint32_t index) { return pool.eligible(index); });
      }
      if (!owner) branch = kNoHealthyWorkers;
      return owner;
    });
  }

  const double bounded_load_factor_;
  const std::array<smg::Series, 6> branches_;
  smg::EligibleCache<> eligible_;
  smg::PoolRings rings_;
};

}  // namespace

SMG_EXPORT_PLUGINS(
    smg::policy<ConsistentHashing>({.name = "consistent_hashing",
                                    .version = "1.0",
                                    .vendor = "smg",
                                    .summary = "requests with the same key go to the same worker",
                                    .options = kOptions}));
