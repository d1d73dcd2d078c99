// cache_aware: a worker that is likely to hold the beginning of the prompt in its KV cache, unless
// it is too busy; otherwise the one with the shortest expected wait. Section 6.6 of the policies
// page.
//
// Who holds what is known from what was sent where (prefix trees, or hash placement if so
// configured) or, for prompts given as tokens, from what engines say about their caches. Each way
// ends in a group of workers; the spill gate fixes who of them may take the request, and one
// expected-wait choice among those books it.
#include <array>

#include "evictor.hpp"
#include "expected_wait.hpp"
#include "hashes.hpp"
#include "kv_events.hpp"
#include "kv_pressure.hpp"
#include "models.hpp"
#include "overlap.hpp"
#include "partition.hpp"
#include "settings.hpp"
#include "smg/cpp/bus.hpp"
#include "smg/cpp/eligible.hpp"
#include "smg/cpp/policy.hpp"
#include "spill_gate.hpp"

namespace {

using namespace cache_aware;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr double kRatios[] = {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0};

// The bits of a request, once more for another use.
uint64_t mix(uint64_t random, uint64_t use) {
  uint64_t bits = random + use * 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

class CacheAware {
 public:
  static constexpr uint32_t kNeeds = SMG_NEEDS_TEXT | SMG_NEEDS_TOKENS | SMG_NEEDS_LOADS;

  explicit CacheAware(smg::Host host)
      : settings_(read_settings(host)),
        gate_(settings_.balance_rel_threshold, settings_.balance_abs_threshold),
        pressure_(settings_.overload_token_usage_threshold,
                  settings_.balance_token_usage_threshold),
        clock_(host),
        loop_(host),
        metrics_(smg::Metrics(host)),
        models_(settings_, smg::Metrics(host)),
        eligible_(host),
        rooms_(loop_.count() + 1),
        evictor_(host, settings_, models_),
        kv_blocks_(smg::Bus(host).subscribe<&CacheAware::on_event>(
            SMG_EVENT_MASK(SMG_EVENT_KV_BLOCKS), *this)) {}

  std::optional<uint32_t> select(const smg::Request& request, const smg::Pool& pool) {
    return eligible_.choose(pool, [&](auto& entry) -> std::optional<uint32_t> {
      if (entry.indices.empty()) return std::nullopt;
      if (entry.fresh) entry.extra.map = models_.find(pool.generation());
      const uint32_t loop = loop_.current();
      Room& room = rooms_[std::min<std::size_t>(loop, rooms_.size() - 1)];
      Call call{request, pool, entry.indices, entry.extra, room};
      return decide(call);
    });
  }

  void pool_changed(const smg_pool* before, const smg_pool* after) {
    models_.pool_changed(before, after);
  }

  void on_event(const smg_event& event) noexcept {
    try {
      apply(reinterpret_cast<const smg_event_kv&>(event), models_,
            static_cast<uint32_t>(clock_.now() / kSecond));
    } catch (const std::bad_alloc&) {
      // The blocks are not known then, and requests go by what is.
    }
  }

 private:
  // What a loop keeps with its list of a pool's eligible workers.
  struct Known {
    std::shared_ptr<const PoolMap> map;
    SlotBits slots;  // of the eligible workers; made when first needed
  };
  // Memory of a loop for one choice at a time.
  struct Room {
    std::vector<uint32_t> group;
    std::vector<uint32_t> cool;
    std::vector<Candidate> candidates;
    std::vector<uint64_t> chain;
    IndexSearch search;
    std::string text;
    std::vector<uint32_t> tokens;
  };
  struct Call {
    const smg::Request& request;
    const smg::Pool& pool;
    std::span<const uint32_t> eligible;
    Known& known;
    Room& room;
    const PoolMap& map() const { return *known.map; }
  };
  struct Metrics {
    explicit Metrics(const smg::Metrics& metrics)
        : branches(metrics.counter("smg_cache_aware_policy_branch_total",
                                   "Choices by prefix trees, by how they were made", {"branch"})),
          tree_match(branches.with({"tree_match"})),
          spill(branches.with({"spill"})),
          fallback(branches.with({"expected_wait_fallback"})),
          first_healthy(branches.with({"first_healthy_fallback"})),
          ratio(metrics
                    .histogram("smg_cache_aware_match_ratio",
                               "Part of a prompt that matched in the prefix tree", {}, kRatios)
                    .with({})) {}
    smg::Family branches;
    smg::Series tree_match, spill, fallback, first_healthy, ratio;
  };

  std::optional<uint32_t> decide(Call& call) {
    if (call.known.map == nullptr) return shortest_wait(call, call.eligible);
    if (settings_.hash_placement) return by_placement(call);
    ModelState& model = call.map().model();
    const bool pressure = pressure_.holds(call.pool, call.eligible);
    const auto tokens = call.request.tokens();
    std::optional<uint32_t> choice;
    if (tokens.empty()) {
      choice = by_tree(
          call, model.strings,
          text_key(call.request.text(), call.request.cache_namespace(), call.room.text), pressure);
    } else if (!pressure && model.index.size() > 0) {
      return by_events(call);
    } else {
      choice = by_tree(
          call, model.tokens,
          token_key(tokens, call.request.cache_namespace(), settings_.block_size, call.room.tokens),
          pressure);
    }
    if (model.oversized()) evictor_.wake();
    shrink(call.room);
    return choice;
  }

  // One choice, one credit.
  std::optional<uint32_t> shortest_wait(Call& call, std::span<const uint32_t> candidates) {
    if (call.eligible.size() == 1) return call.eligible.front();
    if (candidates.size() > 1) return wait_.choose(call.request, call.pool, candidates);
    // Of a single candidate the scorer keeps no books, and the next miss would not see this one.
    const uint32_t twice[] = {candidates.front(), candidates.front()};
    return wait_.choose(call.request, call.pool, twice);
  }

  template <class Tree, class Key>
  std::optional<uint32_t> by_tree(Call& call, Tree& tree, const PartitionedKey<Key>& key,
                                  bool pressure) {
    std::optional<uint32_t> choice;
    const auto tenant = [&]() -> std::optional<Tenant> {
      if (!choice) {
        metrics_.first_healthy.add();
        choice = call.eligible.front();
        return std::nullopt;
      }
      const Tenant chosen = call.map().tenant(*choice);
      if (chosen.generation == 0) return std::nullopt;
      return chosen;
    };
    if (pressure) {
      metrics_.fallback.add();
      choice = shortest_wait(call, call.eligible);
      if (const auto chosen = tenant()) tree.insert(key.key, *chosen);
      return choice;
    }
    const auto accept = [&](Tenant holder) {
      const uint32_t index = call.map().index(holder);
      return index != PoolMap::kNone && call.pool.eligible(index);
    };
    tree.match_and_insert(
        key.key, accept, mix(call.request.random(), 1),
        [&](const smg::prefix_tree::Match& match) -> std::optional<Tenant> {
          const uint64_t matched = match.matched - std::min(match.matched, key.marker);
          const uint64_t input = match.input - std::min(match.input, key.marker);
          metrics_.ratio.observe(
              input == 0 ? 0 : static_cast<double>(matched) / static_cast<double>(input));
          call.room.group.clear();
          // In 32 bits, as the threshold was configured.
          if (input > 0 &&
              static_cast<float>(matched) / static_cast<float>(input) > settings_.cache_threshold) {
            gather(call, match, input);
          }
          const auto verdict =
              gate_.admit(call.pool, call.eligible, call.room.group, call.room.cool);
          const bool miss = call.room.group.empty();
          (miss ? metrics_.fallback : verdict.spilled ? metrics_.spill : metrics_.tree_match).add();
          choice = shortest_wait(call, verdict.candidates);
          return tenant();
        });
    return choice;
  }

  void gather(Call& call, const smg::prefix_tree::Match& match, uint64_t units) {
    auto& candidates = call.room.candidates;
    candidates.clear();
    for (const Tenant holder : match.holders()) {
      candidates.push_back({call.map().index(holder), 1.0});
    }
    score(call, settings_.block_size, std::max<uint64_t>(1, units / settings_.block_size));
  }

  // From the candidates in the room to the group there.
  void score(Call& call, uint32_t block_size, uint64_t request_blocks) {
    if (settings_.overlap_decay > 0) {
      decay_scores(call.room.candidates, call.pool, settings_.overlap_decay, block_size,
                   static_cast<double>(request_blocks));
    }
    pick_group(call.room.candidates, settings_.selection_temperature, mix(call.request.random(), 2),
               call.room.group);
  }

  std::optional<uint32_t> by_events(Call& call) {
    const ModelState& model = call.map().model();
    Room& room = call.room;
    const uint32_t block_size = model.index.block_size();
    hash_chain(call.request.tokens(), block_size, room.chain);
    if (call.known.slots.words().empty()) {
      for (const uint32_t index : call.eligible) {
        const Tenant tenant = call.map().tenant(index);
        if (tenant.generation != 0) call.known.slots.insert(tenant.slot);
      }
    }
    const bool all = settings_.overlap_decay > 0 || settings_.selection_temperature > 0;
    model.index.find(room.chain, call.known.slots, all,
                     static_cast<uint32_t>(call.request.now() / kSecond), room.search);
    room.candidates.clear();
    const auto take = [&](uint32_t slot, uint32_t blocks) {
      const uint32_t index = call.map().index_at(slot);
      if (index == PoolMap::kNone || !model.tenants.alive(call.map().tenant(index))) return;
      if (call.pool.eligible(index)) room.candidates.push_back({index, double(blocks)});
    };
    if (room.search.blocks > 0) {
      room.search.best.for_each([&](uint32_t slot) { take(slot, room.search.blocks); });
      for (const Overlap& each : room.search.shorter) take(each.slot, each.blocks);
    }
    score(call, block_size, room.chain.size());
    return shortest_wait(call,
                         gate_.admit(call.pool, call.eligible, room.group, room.cool).candidates);
  }

  std::optional<uint32_t> by_placement(Call& call) {
    Placement& placement = call.map().model().placement;
    const auto tokens = call.request.tokens();
    const uint64_t now = call.request.now();
    const uint64_t partition = namespace_hash(call.request.cache_namespace());
    auto& hashes = call.room.chain;  // one for each boundary that is reached
    hashes.clear();
    for (const uint32_t boundary : settings_.boundaries) {
      if (boundary > tokens.size()) break;
      hashes.push_back(prompt_hash(tokens.first(boundary), partition));
    }
    const auto key = [&](std::size_t i) {
      return PlacementKey{hashes[i], settings_.boundaries[i]};
    };
    call.room.group.clear();
    if (!hashes.empty() && !pressure_.holds(call.pool, call.eligible)) {
      for (std::size_t i = hashes.size(); i-- > 0 && call.room.group.empty();) {
        const Holders found = placement.find(key(i), now);
        for (uint32_t j = 0; j < found.count; ++j) {
          const uint32_t index = call.map().index(found.tenants[j]);
          if (index != PoolMap::kNone && call.pool.eligible(index)) {
            call.room.group.push_back(index);
          }
        }
      }
    }
    const std::optional<uint32_t> choice = shortest_wait(
        call, gate_.admit(call.pool, call.eligible, call.room.group, call.room.cool).candidates);
    if (!choice) return choice;
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      placement.record(key(i), call.map().tenant(*choice), now);
    }
    return choice;
  }

  // A giant prompt does not pin its memory.
  static void shrink(Room& room) {
    constexpr std::size_t kKept = std::size_t{1} << 20;
    if (room.text.capacity() > kKept) std::string().swap(room.text);
    if (room.tokens.capacity() > kKept / 4) std::vector<uint32_t>().swap(room.tokens);
    if (room.chain.capacity() > kKept / 8) std::vector<uint64_t>().swap(room.chain);
  }

  const Settings settings_;
  const SpillGate gate_;
  const KvPressure pressure_;
  const smg::Clock clock_;
  const smg::Loop loop_;
  const Metrics metrics_;
  Models models_;
  smg::ExpectedWait wait_{smg::ExpectedWaitTunables{}};
  smg::EligibleCache<Known> eligible_;
  std::vector<Room>
      rooms_;  // one for each loop and one for all other threads, guarded with the list
  Evictor evictor_;
  smg::Subscription kv_blocks_;
};

}  // namespace

SMG_EXPORT_PLUGINS(smg::policy<CacheAware>(
    {.name = "cache_aware",
     .version = "1.0",
     .vendor = "smg",
     .summary = "a worker that should hold the prompt's beginning, unless it is too busy",
     .options = cache_aware::kOptions}));
