// How what the registry knows becomes what requests and policies see.
#include <map>
#include <utility>

#include "host/base/views.hpp"
#include "host/fleet/registry.hpp"

namespace smg {

void Registry::publish() {
  if (!dirty_) return;
  dirty_ = false;
  const std::shared_ptr<const FleetSnapshot> now = make_snapshot();
  std::shared_ptr<const FleetSnapshot> before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(snapshot_, now);
    generation_.store(now->generation, std::memory_order_release);
  }
  tell_policies(*before, *now);
  for (const auto& worker : std::exchange(coming_, {})) {
    if (find(worker->view().ref) == worker) set_status(*worker, SMG_STATUS_READY);
  }
  if (observer_ != nullptr) observer_->fleet_published();
}

std::shared_ptr<const FleetSnapshot> Registry::make_snapshot() {
  auto next = std::make_shared<FleetSnapshot>();
  next->workers = workers_;
  std::map<std::string_view, std::vector<std::shared_ptr<Worker>>> by_model;
  for (const auto& worker : workers_) {
    for (const auto& model : worker->description().models) by_model[model.id].push_back(worker);
  }
  for (auto& [model, members] : by_model) {
    const auto known = snapshot_->pools.find(model);
    if (known != snapshot_->pools.end() && known->second->members == members) {
      next->pools.emplace(model, known->second);
    } else {
      families_.worker_pool_size.with({"regular", "http", model})
          .set(static_cast<double>(members.size()));
      next->pools.emplace(model, make_pool(model, std::move(members)));
    }
  }
  for (const auto& [model, pool] : snapshot_->pools) {
    if (!next->pools.contains(model)) {
      families_.worker_pool_size.with({"regular", "http", model}).set(0);
    }
  }
  for (const auto& worker : workers_) {
    for (const auto& card : worker->description().models) {
      for (const auto& alias : card.aliases) next->aliases.emplace(alias, card.id);
    }
  }
  next->all = make_pool("unknown", workers_);
  next->needs = next->all->policy->needs;
  for (const auto& [model, pool] : next->pools) next->needs |= pool->policy->needs;
  next->generation = snapshot_->generation + 1;
  return next;
}

void Registry::tell_policies(const FleetSnapshot& before, const FleetSnapshot& now) const {
  const auto tell = [](const Pool& pool, const smg_pool* old_view, const smg_pool* new_view) {
    if (pool.policy->api->pool_changed != nullptr) {
      pool.policy->api->pool_changed(pool.policy->self, old_view, new_view);
    }
  };
  for (const auto& [model, pool] : now.pools) {
    const auto old = before.pools.find(model);
    if (old == before.pools.end()) {
      tell(*pool, nullptr, &pool->view);
    } else if (old->second != pool) {
      tell(*pool, &old->second->view, &pool->view);
    }
  }
  for (const auto& [model, pool] : before.pools) {
    if (!now.pools.contains(model)) tell(*pool, &pool->view, nullptr);
  }
}

std::shared_ptr<const Pool> Registry::make_pool(std::string_view model,
                                                std::vector<std::shared_ptr<Worker>> members) {
  auto pool = std::make_shared<Pool>();
  pool->model = model;
  pool->members = std::move(members);
  for (const auto& worker : pool->members) {
    pool->workers.push_back(&worker->view());
    pool->live.push_back(&worker->live());
  }
  pool->policy = policy_for_(model);
  for (const auto& worker : pool->members) {
    const WorkerResilience& own = worker->description().resilience;
    if (own.changes_retries()) pool->resilience = own;
  }
  const auto count = static_cast<std::uint32_t>(pool->members.size());
  if (count > 0) {
    pool->selections =
        families_.worker_selection.with({"regular", "http", model, pool->policy->name});
  }
  pool->view.struct_size = sizeof pool->view;
  pool->view.count = count;
  pool->view.workers = pool->workers.data();
  pool->view.live = pool->live.data();
  pool->view.generation = next_pool_generation_++;
  pool->view.epoch = &epoch_;
  pool->view.model = view(pool->model);
  return pool;
}

}  // namespace smg
