// The models that the policy chooses for, and for each pool the map between its indices and the
// tenants of its model's state.
//
// Both are made by the control thread when the pool changes. A loop looks its pool up once per
// change of eligibility and keeps the answer: no reference count is touched per request. The map of
// the pool before the present one is kept for requests on their way; with an older one they are
// chosen for by load alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "model_state.hpp"
#include "settings.hpp"
#include "smg/cpp/metrics.hpp"
#include "smg/policy.h"

namespace cache_aware {

// Immutable. Any thread.
class PoolMap {
 public:
  static constexpr uint32_t kNone = 0xffffffffu;

  PoolMap(std::shared_ptr<ModelState> model, const smg_pool& pool);

  ModelState& model() const { return *model_; }
  Tenant tenant(uint32_t index) const { return tenants_[index]; }  // generation 0: none
  // kNone: not in this pool.
  uint32_t index(Tenant tenant) const {
    const uint32_t found = index_at(tenant.slot);
    return found != kNone && tenants_[found] == tenant ? found : kNone;
  }
  uint32_t index_at(uint32_t slot) const { return slot < by_slot_.size() ? by_slot_[slot] : kNone; }

 private:
  std::shared_ptr<ModelState> model_;
  std::vector<Tenant> tenants_;    // by index
  std::vector<uint32_t> by_slot_;  // indices
};

class Models {
 public:
  using List = std::vector<std::shared_ptr<ModelState>>;

  Models(const Settings& settings, const smg::Metrics& metrics);

  // [control] As in smg/policy.h.
  void pool_changed(const smg_pool* before, const smg_pool* after);

  // [any] nullptr: not told of, or long ago.
  std::shared_ptr<const PoolMap> find(uint64_t generation) const;

  // [any] All models, as of now.
  std::shared_ptr<const List> list() const;

 private:
  struct Model {
    std::shared_ptr<ModelState> state;
    uint64_t generation = 0;  // of its pools, whose maps are kept; 0: none
    uint64_t generation_before = 0;
  };
  ModelGauges gauges(std::string_view model) const;
  void publish_list();

  const Settings& settings_;
  const smg::Family chars_, tokens_, tree_tenants_, placements_;
  std::map<std::string, Model, std::less<>> models_;                   // control thread only
  mutable std::mutex mutex_;                                           // of what follows
  std::unordered_map<uint64_t, std::shared_ptr<const PoolMap>> maps_;  // by generation
  std::shared_ptr<const List> list_;
};

}  // namespace cache_aware
