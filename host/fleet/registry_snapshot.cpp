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
  // Policies first: nobody chooses from a pool that its policy has not heard of.
  tell_policies(*snapshot_, *now);
  {
    const std::lock_guard lock(mutex_);
    snapshot_ = now;
    generation_.store(now->generation, std::memory_order_release);
  }
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
      continue;
    }
    families_.worker_pool_size.with({"regular", "http", model})
        .set(static_cast<double>(members.size()));
    auto policy = known != snapshot_->pools.end() ? known->second->policy
                  : model == "unknown"            ? snapshot_->all->policy
                                                  : policy_for_(model, members.front().get());
    next->pools.emplace(model, make_pool(model, std::move(members), std::move(policy)));
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
  next->all = make_pool("unknown", workers_, snapshot_->all->policy);
  next->needs = next->all->policy->needs;
  for (const auto& [model, pool] : next->pools) next->needs |= pool->policy->needs;
  next->generation = snapshot_->generation + 1;
  return next;
}

void Registry::tell_policies(const FleetSnapshot& before, const FleetSnapshot& now) {
  const auto tell = [](const PolicyRef& policy, const Pool* old_pool, const Pool* new_pool) {
    if (old_pool == new_pool) return;
    policy.pool_changed(old_pool == nullptr ? nullptr : &old_pool->view,
                        new_pool == nullptr ? nullptr : &new_pool->view);
  };
  // Requests for `unknown` go to `all`, not to the workers whose model nobody knows.
  for (const auto& [model, pool] : now.pools) {
    if (model == "unknown") continue;
    const auto old = before.pools.find(model);
    tell(*pool->policy, old == before.pools.end() ? nullptr : old->second.get(), pool.get());
  }
  for (const auto& [model, pool] : before.pools) {
    if (model != "unknown" && !now.pools.contains(model)) tell(*pool->policy, pool.get(), nullptr);
  }
  const auto present = [](const Pool& all) { return all.members.empty() ? nullptr : &all; };
  tell(*now.all->policy, present(*before.all), present(*now.all));
}

std::shared_ptr<const Pool> Registry::make_pool(std::string_view model,
                                                std::vector<std::shared_ptr<Worker>> members,
                                                std::shared_ptr<const PolicyRef> policy) {
  auto pool = std::make_shared<Pool>();
  pool->model = model;
  pool->members = std::move(members);
  for (const auto& worker : pool->members) {
    pool->workers.push_back(&worker->view());
    pool->live.push_back(&worker->live());
  }
  pool->policy = std::move(policy);
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
