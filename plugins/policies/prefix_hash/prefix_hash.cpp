// prefix_hash: prompts that begin alike go to the same worker, unless it has much more to do than
// the others.
#include <array>

#include "cache_boundaries.hpp"
#include "load_limit.hpp"
#include "pool_rings.hpp"
#include "prefix_keys.hpp"
#include "smg/cpp/eligible.hpp"
#include "smg/cpp/metrics.hpp"
#include "smg/cpp/options.hpp"
#include "smg/cpp/policy.hpp"

namespace {

constexpr smg_option kOptions[] = {
    smg::int_option("prefix_token_count",
                    {.initial = "256",
                     .help = "Prompts are told apart by this many tokens at their beginning",
                     .minimum = 1,
                     .maximum = 1e9,
                     .flag = "prefix-token-count"}),
    smg::float_option("load_factor",
                      {.initial = "1.25",
                       .help = "A worker may have this many times the mean of requests in flight "
                               "before its prompts go elsewhere",
                       .minimum = 1,
                       .maximum = 1e6,
                       .flag = "prefix-hash-load-factor"}),
    smg::int_option("balance_abs_threshold",
                    {.initial = "10",
                     .help = "A worker may at least have this many requests in flight above the "
                             "mean before its prompts go elsewhere",
                     .minimum = 0,
                     .maximum = 1e9,
                     .flag = "prefix-hash-balance-abs-threshold"}),
    smg::string_option("cache_boundaries",
                       {.initial = "\"\"",
                        .help = "Lengths in tokens, ascending, with commas between, of prefixes "
                                "that prompts are likely to share; the longest that a prompt "
                                "reaches tells it apart",
                        .flag = "cache-boundaries"}),
};

enum Branch { kNoHealthyWorkers, kNoRoutingKey, kRingHit, kLoadBalanceWalk, kFallbackLeastLoad };

std::array<smg::Series, 5> branch_series(smg::Host host) {
  const auto family = smg::Metrics(host).counter("smg_prefix_hash_policy_branch_total",
                                                 "Selections by how they were made", {"branch"});
  return {family.with({"no_healthy_workers"}), family.with({"no_routing_key"}),
          family.with({"ring_hit"}), family.with({"load_balance_walk"}),
          family.with({"fallback_least_load"})};
}

prefix_hash::LoadLimit load_limit(smg::Host host) {
  const smg::Options options(host);
  return {.load_factor = options.get_float("load_factor"),
          .balance_abs_threshold = static_cast<double>(options.get_int("balance_abs_threshold"))};
}

// A key's position is that of its 16 hexadecimal digits.
uint64_t ring_position(const prefix_hash::PrefixKey& key) {
  char digits[16];
  for (unsigned i = 0; i < 16; ++i) digits[i] = "0123456789abcdef"[key.hash >> (60 - 4 * i) & 0xf];
  return smg::HashRing::position_of({digits, sizeof digits});
}

// Of the eligible workers: requests in flight on all, and who has the fewest, the first of those
// that are tied.
struct Loads {
  uint64_t total = 0;
  uint32_t least = 0;
  uint32_t least_load = 0;
};

Loads loads_of(const smg::Pool& pool, const std::vector<uint32_t>& eligible) {
  Loads loads{
      .total = 0, .least = eligible.front(), .least_load = pool.in_flight(eligible.front())};
  for (const uint32_t index : eligible) {
    const uint32_t load = pool.in_flight(index);
    loads.total += load;
    if (load >= loads.least_load) continue;
    loads.least = index;
    loads.least_load = load;
  }
  return loads;
}

class PrefixHash {
 public:
  static constexpr uint32_t kNeeds = SMG_NEEDS_TEXT | SMG_NEEDS_TOKENS;

  explicit PrefixHash(smg::Host host)
      : prefix_tokens_(static_cast<uint64_t>(smg::Options(host).get_int("prefix_token_count"))),
        boundaries_(smg::parse_cache_boundaries(smg::Options(host).get_string("cache_boundaries"))),
        limit_(load_limit(host)),
        branches_(branch_series(host)),
        eligible_(host),
        rings_(host) {}

  void pool_changed(const smg_pool* before, const smg_pool* after) {
    rings_.pool_changed(before, after);
  }

  std::optional<uint32_t> select(const smg::Request& request, const smg::Pool& pool) {
    Branch branch{};
    const auto choice = eligible_.choose(pool, [&](const auto& entry) -> std::optional<uint32_t> {
      branch = kNoHealthyWorkers;
      if (entry.indices.empty()) return std::nullopt;
      prefix_hash::PrefixKeys keys(request, {prefix_tokens_, boundaries_});
      const auto first = keys.next();
      if (!first) {
        branch = kNoRoutingKey;
        return loads_of(pool, entry.indices).least;
      }
      return rings_.with_ring(pool, [&](const smg::HashRing* ring, smg::Visited& visited) {
        return ring_choice(ring, visited, pool, entry.indices, *first, keys, branch);
      });
    });
    branches_[branch].add();
    return choice;
  }

 private:
  uint32_t ring_choice(const smg::HashRing* ring, smg::Visited& visited, const smg::Pool& pool,
                       const std::vector<uint32_t>& eligible, prefix_hash::PrefixKey key,
                       prefix_hash::PrefixKeys& keys, Branch& branch) const {
    std::optional<Loads> loads;
    const auto within = [&](uint64_t load) {
      // The total is at least the worker's own load. The limit rises with it, so that mostly the
      // others need not be looked at.
      if (limit_.allows(load, load, eligible.size())) return true;
      if (!loads) loads = loads_of(pool, eligible);
      return limit_.allows(load, loads->total, eligible.size());
    };
    std::optional<uint32_t> deepest_owner;
    for (std::optional next(key); ring != nullptr && next; next = keys.next()) {
      const auto owner = ring->find(ring_position(*next), visited,
                                    [&](uint32_t index) { return pool.eligible(index); });
      if (!owner) break;
      if (within(pool.in_flight(*owner))) {
        branch = kRingHit;
        return *owner;
      }
      if (!deepest_owner) deepest_owner = owner;
    }
    branch = deepest_owner ? kLoadBalanceWalk : kFallbackLeastLoad;
    if (!loads) loads = loads_of(pool, eligible);
    if (deepest_owner && !within(loads->least_load)) return *deepest_owner;
    return loads->least;
  }

  const uint64_t prefix_tokens_;
  const std::vector<uint32_t> boundaries_;
  const prefix_hash::LoadLimit limit_;
  const std::array<smg::Series, 5> branches_;
  smg::EligibleCache<> eligible_;
  smg::PoolRings rings_;
};

}  // namespace

SMG_EXPORT_PLUGINS(smg::policy<PrefixHash>(
    {.name = "prefix_hash",
     .version = "1.0",
     .vendor = "smg",
     .summary = "prompts that begin alike go to the same worker, unless it is far busier",
     .options = kOptions}));
