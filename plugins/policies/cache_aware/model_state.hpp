// All that cache_aware knows about one model: its workers as tenants, and what they are taken to
// hold by each of the three ways to know it - prefix trees, hash placement, engines' events.
//
// Shared by the loops that choose, the evictor and the bus thread; only the control thread changes
// the membership. Whoever still holds the state of a model that is gone holds an empty one that
// takes nothing in.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "placement.hpp"
#include "positional_index.hpp"
#include "prefix_tree.hpp"
#include "settings.hpp"
#include "smg/cpp/metrics.hpp"
#include "smg/policy.h"
#include "tenants.hpp"

namespace cache_aware {

// The gauges of a model, set by the evictor.
struct ModelGauges {
  smg::Series chars, tokens, string_tenants, token_tenants, placements;
};

class ModelState {
 public:
  ModelState(std::string name, const Settings& settings, const ModelGauges& gauges);

  // [control] The workers are now those of `pool`; who left is gone from all books at return.
  void set_members(const smg_pool& pool);
  // [control] All workers left.
  void drop();
  // [control]
  Tenant tenant_of(const smg_worker& worker) const;

  // [any] All books empty; the workers stay.
  void forget();

  // [any] What the trees may hold besides, until the next clean-up, is an eighth.
  bool oversized() const {
    const uint64_t limit = max_tree_size_ + max_tree_size_ / 8;
    return strings.size() > limit || tokens.size() > limit;
  }
  // [any] Trees to their budget, dead placements out, gauges set.
  void clean_up(uint64_t now);

  const std::string name;
  // Declared in the order of use: the books below ask it who is alive.
  Tenants tenants;
  smg::prefix_tree::StringTree strings;
  smg::prefix_tree::TokenTree tokens;
  Placement placement;
  PositionalIndex index;

 private:
  struct Member {
    std::string url;
    Tenant tenant;
    bool present = false;
    bool stays = false;  // during set_members
  };
  void join(Member& member, const smg_worker& worker);
  void leave(Member& member);

  const uint64_t max_tree_size_;
  const ModelGauges gauges_;
  std::vector<Member> members_;  // by slot
};

}  // namespace cache_aware
