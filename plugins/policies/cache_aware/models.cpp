#include "models.hpp"

#include <algorithm>
#include <utility>

#include "smg/cpp/view.hpp"

namespace cache_aware {

PoolMap::PoolMap(std::shared_ptr<ModelState> model, const smg_pool& pool)
    : model_(std::move(model)), tenants_(pool.count) {
  for (uint32_t i = 0; i < pool.count; ++i) {
    tenants_[i] = model_->tenant_of(*pool.workers[i]);
    if (tenants_[i].generation == 0) continue;
    if (tenants_[i].slot >= by_slot_.size()) by_slot_.resize(tenants_[i].slot + 1, kNone);
    by_slot_[tenants_[i].slot] = i;
  }
}

Models::Models(const Settings& settings, const smg::Metrics& metrics)
    : settings_(settings),
      chars_(metrics.gauge("smg_cache_tree_chars",
                           "Characters in a model's prefix tree of texts, summed over workers",
                           {"model"})),
      tokens_(metrics.gauge("smg_cache_tree_tokens",
                            "Tokens in a model's prefix tree of tokens, summed over workers",
                            {"model"})),
      tree_tenants_(metrics.gauge("smg_cache_tree_tenants", "Workers that a prefix tree knows",
                                  {"model", "tree"})),
      placements_(metrics.gauge("smg_cache_placement_entries",
                                "Beginnings of prompts in a model's hash placement", {"model"})),
      list_(std::make_shared<List>()) {}

ModelGauges Models::gauges(std::string_view model) const {
  return {.chars = chars_.with({model}),
          .tokens = tokens_.with({model}),
          .string_tenants = tree_tenants_.with({model, "string"}),
          .token_tenants = tree_tenants_.with({model, "token"}),
          .placements = placements_.with({model})};
}

void Models::pool_changed(const smg_pool* before, const smg_pool* after) {
  if (before == nullptr && after == nullptr) return;
  const std::string name(smg::text((after != nullptr ? after : before)->model));
  if (after == nullptr) {
    const auto found = models_.find(name);
    if (found == models_.end()) return;
    const Model gone = std::move(found->second);
    models_.erase(found);
    publish_list();
    {
      const std::lock_guard lock(mutex_);
      maps_.erase(gone.generation);
      maps_.erase(gone.generation_before);
    }
    gone.state->drop();
    return;
  }
  Model& model = models_[name];
  const bool fresh = model.state == nullptr;
  if (fresh) model.state = std::make_shared<ModelState>(name, settings_, gauges(name));
  model.state->set_members(*after);
  auto map = std::make_shared<const PoolMap>(model.state, *after);
  {
    const std::lock_guard lock(mutex_);
    if (model.generation != after->generation) {
      maps_.erase(model.generation_before);
      model.generation_before = std::exchange(model.generation, after->generation);
    }
    maps_.insert_or_assign(after->generation, std::move(map));
  }
  if (fresh) publish_list();
}

void Models::publish_list() {
  auto list = std::make_shared<List>();
  for (const auto& [name, model] : models_) list->push_back(model.state);
  const std::lock_guard lock(mutex_);
  list_ = std::move(list);
}

std::shared_ptr<const PoolMap> Models::find(uint64_t generation) const {
  const std::lock_guard lock(mutex_);
  const auto found = maps_.find(generation);
  return found != maps_.end() ? found->second : nullptr;
}

std::shared_ptr<const Models::List> Models::list() const {
  const std::lock_guard lock(mutex_);
  return list_;
}

}  // namespace cache_aware
