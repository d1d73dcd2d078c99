#include "host/fleet/registry.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "host/base/views.hpp"

namespace smg {

Registry::Registry(Endpoints& endpoints, Families& families, Bus& bus, PolicyFor policy_for,
                   std::function<void()> publish_soon)
    : endpoints_(endpoints),
      families_(families),
      bus_(bus),
      policy_for_(std::move(policy_for)),
      publish_soon_(std::move(publish_soon)) {
  auto empty = std::make_shared<FleetSnapshot>();
  empty->all = make_pool("unknown", {});
  empty->needs = empty->all->policy->needs;
  snapshot_ = std::move(empty);
}

std::shared_ptr<const FleetSnapshot> Registry::snapshot() const {
  const std::lock_guard lock(mutex_);
  return snapshot_;
}

std::shared_ptr<Worker> Registry::find(std::uint64_t ref) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_ref_.find(ref);
  return found == by_ref_.end() ? nullptr : found->second;
}

std::shared_ptr<Worker> Registry::add(WorkerDescription description, const TransportRef& transport,
                                      std::string& error) {
  if (!urls_.insert(description.url).second) {
    error = "worker " + description.url + " is registered already";
    return nullptr;
  }
  std::uint32_t slot = next_slot_;
  if (free_slots_.empty()) {
    ++next_slot_;
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  const std::uint64_t ref = next_ref_++;
  auto live = std::make_shared<LiveBlock>();
  // No lock is held in a plugin.
  auto endpoint = endpoints_.open(transport, description, live, ref, slot, error);
  if (endpoint == nullptr) {
    urls_.erase(description.url);
    free_slots_.push_back(slot);
    return nullptr;
  }
  const Series active = families_.worker_requests_active.with({description.url});
  families_.worker_health.with({description.url}).set(0);
  auto worker = std::make_shared<Worker>(std::move(description), std::move(live), ref, slot,
                                         std::move(endpoint), active);
  {
    const std::lock_guard lock(mutex_);
    workers_.push_back(worker);
    by_ref_.emplace(ref, worker);
  }
  announce(SMG_EVENT_WORKER_ADDED, *worker);
  changed();
  return worker;
}

std::shared_ptr<Worker> Registry::update(const std::shared_ptr<Worker>& worker,
                                         WorkerDescription description) {
  std::shared_ptr<Worker> fresh;
  {
    const std::lock_guard lock(mutex_);
    const auto place = std::find(workers_.begin(), workers_.end(), worker);
    if (place == workers_.end()) return nullptr;
    fresh = std::make_shared<Worker>(std::move(description), worker->live_block(), next_ref_++,
                                     worker->view().slot, worker->endpoint(),
                                     worker->requests_active());
    *place = fresh;
    by_ref_.erase(worker->view().ref);
    by_ref_.emplace(fresh->view().ref, fresh);
  }
  announce(SMG_EVENT_WORKER_UPDATED, *fresh);
  changed();
  return fresh;
}

void Registry::remove(const std::shared_ptr<Worker>& worker) {
  {
    const std::lock_guard lock(mutex_);
    const auto place = std::find(workers_.begin(), workers_.end(), worker);
    if (place == workers_.end()) return;
    workers_.erase(place);
    by_ref_.erase(worker->view().ref);
  }
  set_state(*worker, SMG_STATE_STATUS_MASK, SMG_STATUS_DRAINING);
  urls_.erase(worker->url());
  free_slots_.push_back(worker->view().slot);
  families_.worker_health.with({worker->url()}).set(-1);
  announce(SMG_EVENT_WORKER_REMOVED, *worker);
  changed();
}

void Registry::remove_all() {
  while (!workers_.empty()) remove(workers_.back());
  publish();
}

void Registry::changed() {
  if (!publish_soon_) {
    dirty_ = true;
    publish();
  } else if (!dirty_) {
    dirty_ = true;
    publish_soon_();
  }
}

std::uint32_t Registry::set_state(const Worker& worker, std::uint32_t mask, std::uint32_t bits) {
  std::uint32_t before = 0;
  std::uint32_t after = 0;
  {
    // Serialises writers only: readers load the word without it.
    const std::lock_guard lock(mutex_);
    before = worker.state();
    after = (before & ~mask) | bits;
    // Odd while the word changes: who sees the new word sees an epoch that has moved.
    const bool moves = smg_state_eligible(before) != smg_state_eligible(after);
    if (moves) __atomic_fetch_add(&epoch_, std::uint64_t{1}, __ATOMIC_RELEASE);
    __atomic_store_n(&worker.live().state, after, __ATOMIC_RELEASE);
    if (moves) __atomic_fetch_add(&epoch_, std::uint64_t{1}, __ATOMIC_RELEASE);
  }
  if (((before ^ after) & SMG_STATE_STATUS_MASK) != 0) {
    families_.worker_health.with({worker.url()})
        .set((after & SMG_STATE_STATUS_MASK) == SMG_STATUS_READY ? 1 : 0);
    smg_event_change event{};
    event.event.struct_size = sizeof event;
    event.event.type = SMG_EVENT_WORKER_STATUS;
    event.event.worker_ref = worker.view().ref;
    event.event.worker_url = worker.view().url;
    event.before = before & SMG_STATE_STATUS_MASK;
    event.after = after & SMG_STATE_STATUS_MASK;
    event.text = view(status_name(after));
    bus_.publish(event.event);
  }
  return before;
}

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
}

std::shared_ptr<const FleetSnapshot> Registry::make_snapshot() {
  auto next = std::make_shared<FleetSnapshot>();
  next->workers = workers_;
  std::map<std::string_view, std::vector<std::shared_ptr<Worker>>> by_model;
  for (const auto& worker : workers_) {
    for (const auto& model : worker->description().models) by_model[model].push_back(worker);
  }
  for (auto& [model, members] : by_model) {
    const auto known = snapshot_->pools.find(model);
    if (known != snapshot_->pools.end() && known->second->members == members) {
      next->pools.emplace(model, known->second);
    } else {
      next->pools.emplace(model, make_pool(model, std::move(members)));
    }
  }
  for (const auto& [model, pool] : snapshot_->pools) {
    if (!next->pools.contains(model)) {
      families_.worker_pool_size.with({"regular", "http", model}).set(0);
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
  const auto count = static_cast<std::uint32_t>(pool->members.size());
  if (count > 0) {
    pool->selections =
        families_.worker_selection.with({"regular", "http", model, pool->policy->name});
    families_.worker_pool_size.with({"regular", "http", model}).set(count);
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

void Registry::announce(std::uint32_t type, const Worker& worker) {
  smg_event event{};
  event.struct_size = sizeof event;
  event.type = type;
  event.worker_ref = worker.view().ref;
  event.worker_url = worker.view().url;
  bus_.publish(event);
}

}  // namespace smg
