// How what the registry knows becomes what requests and policies see.
#include <algorithm>
#include <map>
#include <utility>

#include "host/base/views.hpp"
#include "host/fleet/registry.hpp"

namespace smg {

namespace {

bool has_endpoints_of(const Pool& pool, const std::vector<std::shared_ptr<Worker>>& members) {
  return std::equal(
      pool.endpoints.begin(), pool.endpoints.end(), members.begin(), members.end(),
      [](const auto& endpoint, const auto& worker) { return endpoint == worker->endpoint(); });
}

}  // namespace

void Registry::publish() {
  if (dirty_) publish_with(nullptr);
}

void Registry::change_policies(const PolicyAgain& again) {
  publish_with(&again);
  introduced_.clear();
}

void Registry::introduce(const PolicyPtr& successor, const PolicyPtr& present) {
  introduced_[successor.get()] = snapshot_;
  const auto tell = [&](const Pool& pool) {
    if (pool.policy == present && !pool.members.empty()) {
      successor->pool_changed(nullptr, &pool.view);
    }
  };
  for (const auto& [model, pool] : snapshot_->pools) {
    if (model != "unknown") tell(*pool);
  }
  tell(*snapshot_->all);
}

void Registry::publish_with(const PolicyAgain* again) {
  dirty_ = false;
  const std::shared_ptr<const FleetSnapshot> now = make_snapshot(again);
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

std::shared_ptr<const FleetSnapshot> Registry::make_snapshot(const PolicyAgain* again) {
  auto next = std::make_shared<FleetSnapshot>();
  next->workers = workers_;
  next->all = make_pool("unknown", workers_,
                        again == nullptr ? snapshot_->all->policy
                                         : (*again)("unknown", nullptr, snapshot_->all->policy));
  std::map<std::string_view, std::vector<std::shared_ptr<Worker>>> by_model;
  for (const auto& worker : workers_) {
    for (const auto& model : worker->description().models) by_model[model.id].push_back(worker);
  }
  for (auto& [model, members] : by_model) {
    const auto known = snapshot_->pools.find(model);
    const Pool* const present = known == snapshot_->pools.end() ? nullptr : known->second.get();
    PolicyPtr policy;
    if (model == "unknown") {
      policy = next->all->policy;
    } else if (present == nullptr) {
      policy = policy_for_(model, members.front().get());
    } else {
      policy = again == nullptr ? present->policy
                                : (*again)(model, members.front().get(), present->policy);
    }
    if (present != nullptr && present->members == members && present->policy == policy &&
        has_endpoints_of(*present, members)) {
      next->pools.emplace(model, known->second);
      continue;
    }
    families_.worker_pool_size.with({"regular", "http", model})
        .set(static_cast<double>(members.size()));
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
  next->needs = next->all->policy->needs;
  for (const auto& [model, pool] : next->pools) next->needs |= pool->policy->needs;
  next->generation = snapshot_->generation + 1;
  return next;
}

void Registry::tell_policies(const FleetSnapshot& before, const FleetSnapshot& now) const {
  // The pool of that model as requests see it: those for `unknown` go to `all`, not to the workers
  // whose model nobody knows.
  const auto pool_of = [](const FleetSnapshot& fleet, std::string_view model) -> const Pool* {
    return fleet.find(model);
  };
  const auto tell = [](const PolicyRef& policy, const Pool* old_pool, const Pool* new_pool) {
    if (old_pool == new_pool) return;
    policy.pool_changed(old_pool == nullptr ? nullptr : &old_pool->view,
                        new_pool == nullptr ? nullptr : &new_pool->view);
  };
  // What the policy that chooses from the pool from now on has heard of it so far.
  const auto heard_of = [&](const PolicyRef& policy, const Pool* old_pool,
                            std::string_view model) -> const Pool* {
    if (old_pool != nullptr && old_pool->policy.get() == &policy) return old_pool;
    const auto told = introduced_.find(&policy);
    return told == introduced_.end() ? nullptr : pool_of(*told->second, model);
  };
  const auto compare = [&](std::string_view model, const Pool* old_pool, const Pool* new_pool) {
    if (new_pool != nullptr) {
      tell(*new_pool->policy, heard_of(*new_pool->policy, old_pool, model), new_pool);
    }
    if (old_pool != nullptr && (new_pool == nullptr || new_pool->policy != old_pool->policy)) {
      tell(*old_pool->policy, old_pool, nullptr);
    }
  };
  for (const auto& [model, pool] : now.pools) {
    if (model != "unknown") compare(model, pool_of(before, model), pool.get());
  }
  for (const auto& [model, pool] : before.pools) {
    if (model != "unknown" && !now.pools.contains(model)) compare(model, pool.get(), nullptr);
  }
  compare("unknown", pool_of(before, "unknown"), pool_of(now, "unknown"));
}

std::shared_ptr<const Pool> Registry::make_pool(std::string_view model,
                                                std::vector<std::shared_ptr<Worker>> members,
                                                PolicyPtr policy) {
  auto pool = std::make_shared<Pool>();
  pool->model = model;
  pool->members = std::move(members);
  for (const auto& worker : pool->members) {
    pool->workers.push_back(&worker->view());
    pool->live.push_back(&worker->live());
    pool->endpoints.push_back(worker->endpoint());
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
