#include "cache_aware.hpp"

#include <algorithm>
#include <new>

#include "hashes.hpp"
#include "kv_events.hpp"

namespace cache_aware {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr double kRatios[] = {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0};

// The bits of a request, once more for another use.
uint64_t mix(uint64_t random, uint64_t use) {
  uint64_t bits = random + use * 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

}  // namespace

CacheAware::Branches::Branches(const smg::Family& family)
    : tree_match(family.with({"tree_match"})),
      spill(family.with({"spill"})),
      fallback(family.with({"expected_wait_fallback"})),
      first_healthy(family.with({"first_healthy_fallback"})) {}

CacheAware::CacheAware(smg::Host host)
    : settings_(read_settings(host)),
      gate_(settings_.balance_rel_threshold, settings_.balance_abs_threshold),
      pressure_(settings_.overload_token_usage_threshold, settings_.balance_token_usage_threshold),
      clock_(host),
      loop_(host),
      branches_(smg::Metrics(host).counter("smg_cache_aware_policy_branch_total",
                                           "Choices by prefix trees, by how they were made",
                                           {"branch"})),
      match_ratio_(smg::Metrics(host)
                       .histogram("smg_cache_aware_match_ratio",
                                  "Part of a prompt that matched in the prefix tree", {}, kRatios)
                       .with({})),
      models_(settings_, smg::Metrics(host)),
      eligible_(host),
      rooms_(loop_.count() + 1),
      evictor_(host, settings_, models_),
      kv_blocks_(smg::Bus(host).subscribe<&CacheAware::on_event>(
          SMG_EVENT_MASK(SMG_EVENT_KV_BLOCKS), *this)) {}

std::optional<uint32_t> CacheAware::select(const smg::Request& request, const smg::Pool& pool) {
  return eligible_.choose(pool, [&](auto& entry) -> std::optional<uint32_t> {
    if (entry.indices.empty()) return std::nullopt;
    if (entry.fresh) entry.extra.map = models_.find(pool.generation());
    Room& room = rooms_[std::min<std::size_t>(loop_.current(), rooms_.size() - 1)];
    Call call{request, pool, entry.indices, entry.extra, room};
    return decide(call);
  });
}

void CacheAware::on_event(const smg_event& event) noexcept {
  try {
    apply(reinterpret_cast<const smg_event_kv&>(event), models_,
          static_cast<uint32_t>(clock_.now() / kSecond));
  } catch (const std::bad_alloc&) {
    // The blocks are not known then, and requests go by what is.
  }
}

std::optional<uint32_t> CacheAware::decide(Call& call) {
  call.room.shared = false;
  if (call.known.map == nullptr) return shortest_wait(call, call.eligible);
  if (settings_.hash_placement) return by_placement(call);
  ModelState& model = call.map().model();
  const std::span<const uint32_t> tokens = call.request.tokens();
  const std::string_view name_space = call.request.cache_namespace();
  const bool pressure = pressure_.holds(call.pool, call.eligible);
  std::optional<uint32_t> choice;
  if (tokens.empty()) {
    choice = by_tree(call, model.strings, text_key(call.request.text(), name_space, call.room.text),
                     pressure);
  } else if (!pressure && model.index.size() > 0) {
    choice = by_events(call);
  } else {
    choice =
        by_tree(call, model.tokens,
                token_key(tokens, name_space, settings_.block_size, call.room.tokens), pressure);
  }
  if (model.oversized()) evictor_.wake();
  call.room.shrink();
  return choice;
}

// One choice, one credit.
std::optional<uint32_t> CacheAware::shortest_wait(Call& call,
                                                  std::span<const uint32_t> candidates) {
  if (call.eligible.size() == 1) return call.eligible.front();
  if (candidates.size() > 1) return wait_.choose(call.request, call.pool, candidates);
  // Of a single candidate the scorer keeps no books, and the next miss would not see this request.
  const uint32_t twice[] = {candidates.front(), candidates.front()};
  return wait_.choose(call.request, call.pool, twice);
}

SpillGate::Verdict CacheAware::admit(Call& call) const {
  return gate_.admit(call.pool, call.eligible, call.room.group, call.room.shared, call.room.cool);
}

// From the candidates in the room to the group there.
void CacheAware::make_group(Call& call, uint32_t block_size, uint64_t request_blocks) const {
  if (settings_.overlap_decay > 0) {
    decay_scores(call.room.candidates, call.pool, settings_.overlap_decay, block_size,
                 static_cast<double>(std::max<uint64_t>(request_blocks, 1)));
  }
  pick_group(call.room.candidates, settings_.selection_temperature, mix(call.request.random(), 2),
             call.room.group);
}

template <class Tree, class Input>
std::optional<uint32_t> CacheAware::by_tree(Call& call, Tree& tree,
                                            const PartitionedKey<Input>& key, bool pressure) {
  std::optional<uint32_t> choice;
  // The tenant to insert the prompt for.
  const auto settle = [&](const smg::Series& branch) -> std::optional<Tenant> {
    if (!choice) {
      branches_.first_healthy.add();
      choice = call.eligible.front();
      return std::nullopt;
    }
    branch.add();
    const Tenant chosen = call.map().tenant(*choice);
    if (chosen.generation == 0) return std::nullopt;
    return chosen;
  };
  if (pressure) {
    choice = shortest_wait(call, call.eligible);
    if (const auto chosen = settle(branches_.fallback)) tree.insert(key.key, *chosen);
    return choice;
  }
  const auto accept = [&](Tenant holder) {
    const uint32_t index = call.map().index(holder);
    return index != PoolMap::kNone && call.pool.eligible(index);
  };
  const auto choose = [&](const smg::prefix_tree::Match& match) {
    find_holders(call, match, key.marker);
    const SpillGate::Verdict verdict = admit(call);
    choice = shortest_wait(call, verdict.candidates);
    return settle(call.room.group.empty() ? branches_.fallback
                  : verdict.spilled       ? branches_.spill
                                          : branches_.tree_match);
  };
  tree.match_and_insert(key.key, accept, mix(call.request.random(), 1), choose);
  return choice;
}

// Leaves the group in the room: nobody if too little of the prompt matched.
void CacheAware::find_holders(Call& call, const smg::prefix_tree::Match& match,
                              uint64_t marker) const {
  const uint64_t matched = match.matched - std::min(match.matched, marker);
  const uint64_t input = match.input - std::min(match.input, marker);
  const uint64_t shared = match.shared - std::min(match.shared, marker);
  match_ratio_.observe(input == 0 ? 0 : static_cast<double>(matched) / static_cast<double>(input));
  call.room.candidates.clear();
  // In 32 bits, as the threshold was configured.
  const auto is_enough = [&](uint64_t units) {
    return input > 0 &&
           static_cast<float>(units) / static_cast<float>(input) > settings_.cache_threshold;
  };
  call.room.shared = !is_enough(matched - shared);
  if (is_enough(matched)) {
    for (const Tenant holder : match.holders()) {
      call.room.candidates.push_back({call.map().index(holder), 1.0});
    }
  }
  make_group(call, settings_.block_size, input / settings_.block_size);
}

std::optional<uint32_t> CacheAware::by_events(Call& call) {
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
    if (call.pool.eligible(index)) room.candidates.push_back({index, static_cast<double>(blocks)});
  };
  if (room.search.blocks > 0) {
    room.search.best.for_each([&](uint32_t slot) { take(slot, room.search.blocks); });
    for (const Overlap& each : room.search.shorter) take(each.slot, each.blocks);
  }
  make_group(call, block_size, room.chain.size());
  return shortest_wait(call, admit(call).candidates);
}

std::optional<uint32_t> CacheAware::by_placement(Call& call) {
  Placement& placement = call.map().model().placement;
  const std::span<const uint32_t> tokens = call.request.tokens();
  const uint64_t now = call.request.now();
  const uint64_t partition = namespace_hash(call.request.cache_namespace());
  auto& hashes = call.room.chain;  // one for each boundary that the prompt reaches
  hashes.clear();
  for (const uint32_t boundary : settings_.boundaries) {
    if (boundary > tokens.size()) break;
    hashes.push_back(prompt_hash(tokens.first(boundary), partition));
  }
  const auto key = [&](std::size_t i) { return PlacementKey{hashes[i], settings_.boundaries[i]}; };
  std::vector<uint32_t>& group = call.room.group;
  group.clear();
  if (!hashes.empty() && !pressure_.holds(call.pool, call.eligible)) {
    for (std::size_t i = hashes.size(); i-- > 0 && group.empty();) {
      const Holders found = placement.find(key(i), now);
      for (const Tenant holder : found.all()) {
        const uint32_t index = call.map().index(holder);
        if (index != PoolMap::kNone && call.pool.eligible(index)) group.push_back(index);
      }
    }
  }
  const std::optional<uint32_t> choice = shortest_wait(call, admit(call).candidates);
  if (!choice) return choice;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    placement.record(key(i), call.map().tenant(*choice), now);
  }
  return choice;
}

void CacheAware::Room::shrink() {
  constexpr std::size_t kKept = std::size_t{1} << 20;
  if (text.capacity() > kKept) std::string().swap(text);
  if (tokens.capacity() * sizeof(uint32_t) > kKept) std::vector<uint32_t>().swap(tokens);
  if (chain.capacity() * sizeof(uint64_t) > kKept) std::vector<uint64_t>().swap(chain);
}

}  // namespace cache_aware
