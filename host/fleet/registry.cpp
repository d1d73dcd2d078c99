#include "host/fleet/registry.hpp"

#include <algorithm>
#include <utility>

#include "host/base/views.hpp"
#include "host/loop/loop.hpp"

namespace smg {

Registry::Registry(Endpoints& endpoints, Families& families, Bus& bus, PolicyFor policy_for,
                   std::function<void()> publish_soon)
    : endpoints_(endpoints),
      families_(families),
      bus_(bus),
      policy_for_(std::move(policy_for)),
      publish_soon_(std::move(publish_soon)) {
  auto empty = std::make_shared<FleetSnapshot>();
  empty->all = make_pool("unknown", {}, policy_for_("unknown", nullptr));
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

std::shared_ptr<Worker> Registry::served(std::uint64_t ref) const {
  const std::lock_guard lock(mutex_);
  for (const auto* index : {&by_ref_, &by_endpoint_}) {
    if (const auto found = index->find(ref); found != index->end()) return found->second;
  }
  return nullptr;
}

std::shared_ptr<WorkerRuntime> Registry::runtime_of(std::uint64_t ref) const {
  if (const auto worker = served(ref)) return worker->runtime();
  return endpoints_.runtime_of(ref);
}

std::shared_ptr<Worker> Registry::find_id(std::string_view id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second->shared_from_this();
}

std::shared_ptr<Worker> Registry::find_url(std::string_view url) const {
  const auto found = by_url_.find(url);
  return found == by_url_.end() ? nullptr : found->second->shared_from_this();
}

std::optional<Candidate> Registry::open(const WorkerDescription& description,
                                        const TransportPtr& transport, std::string& error) {
  Candidate candidate;
  candidate.slot = next_slot_;
  if (free_slots_.empty()) {
    ++next_slot_;
  } else {
    candidate.slot = free_slots_.back();
    free_slots_.pop_back();
  }
  candidate.ref = next_ref_++;
  candidate.runtime =
      std::make_shared<WorkerRuntime>(*this, families_, bus_, description.url, Loop::clock());
  candidate.runtime->ref = candidate.ref;
  // No lock is held in a plugin.
  candidate.endpoint = endpoints_.open(transport, description, candidate.runtime, candidate.ref,
                                       candidate.slot, error);
  if (candidate.endpoint == nullptr) {
    free_slots_.push_back(candidate.slot);
    return std::nullopt;
  }
  return candidate;
}

std::optional<Candidate> Registry::reopen(const Worker& worker,
                                          const WorkerDescription& description,
                                          const TransportPtr& transport, std::string& error) {
  Candidate candidate;
  candidate.slot = worker.view().slot;
  candidate.ref = next_ref_++;
  candidate.runtime = worker.runtime();
  candidate.endpoint = endpoints_.open(transport, description, candidate.runtime, candidate.ref,
                                       candidate.slot, error);
  if (candidate.endpoint == nullptr) return std::nullopt;
  return candidate;
}

bool Registry::renew(Candidate& candidate, const WorkerDescription& description,
                     const TransportPtr& transport, std::string& error) {
  auto endpoint = endpoints_.open(transport, description, candidate.runtime, candidate.ref,
                                  candidate.slot, error);
  if (endpoint == nullptr) return false;
  candidate.endpoint = std::move(endpoint);
  return true;
}

void Registry::discard(const Candidate& candidate) {
  free_slots_.push_back(candidate.slot);
}

std::shared_ptr<Worker> Registry::add(Candidate candidate, WorkerDescription description) {
  if (by_url_.contains(description.url)) {
    discard(candidate);
    return nullptr;
  }
  const Series active = families_.worker_requests_active.with({description.url});
  auto worker =
      std::make_shared<Worker>(std::move(description), std::move(candidate.runtime), candidate.ref,
                               candidate.slot, std::move(candidate.endpoint), active);
  by_url_.emplace(worker->url(), worker.get());
  by_id_.emplace(worker->description().id, worker.get());
  {
    const std::lock_guard lock(mutex_);
    workers_.push_back(worker);
    by_ref_.emplace(worker->view().ref, worker);
    by_endpoint_.emplace(worker->endpoint()->ref(), worker);
  }
  show_added(*worker);
  announce(SMG_EVENT_WORKER_ADDED, *worker);
  changed();
  return worker;
}

std::shared_ptr<Worker> Registry::replace(const std::shared_ptr<Worker>& present,
                                          WorkerDescription description,
                                          std::optional<Candidate> candidate) {
  // A holder of its own, here as below: what the caller holds may be the very entry that goes.
  const std::shared_ptr<Worker> worker = find_id(present->description().id);
  if (worker == nullptr || worker != present) return nullptr;
  auto fresh = std::make_shared<Worker>(
      std::move(description), worker->runtime(), candidate ? candidate->ref : next_ref_++,
      worker->view().slot, candidate ? candidate->endpoint : worker->endpoint(),
      worker->requests_active());
  bool cleared = false;
  // Keys point into the worker that holds them.
  by_url_.erase(worker->url());
  by_id_.erase(worker->description().id);
  by_url_.emplace(fresh->url(), fresh.get());
  by_id_.emplace(fresh->description().id, fresh.get());
  {
    const std::lock_guard lock(mutex_);
    cleared = flag(*worker, false);
    *std::find(workers_.begin(), workers_.end(), worker) = fresh;
    by_ref_.erase(worker->view().ref);
    by_ref_.emplace(fresh->view().ref, fresh);
    by_endpoint_.erase(worker->endpoint()->ref());
    by_endpoint_.emplace(fresh->endpoint()->ref(), fresh);
    fresh->runtime()->ref = fresh->view().ref;
  }
  std::replace(coming_.begin(), coming_.end(), worker, fresh);
  for (const auto& model : fresh->description().models) {
    families_.workers_overloaded.with({model.id}).add(0);
  }
  if (observer_ != nullptr) observer_->worker_left(*worker);
  if (cleared) announce_verdict(*worker, false);
  announce(SMG_EVENT_WORKER_UPDATED, *fresh);
  changed();
  return fresh;
}

void Registry::remove(const std::shared_ptr<Worker>& leaving) {
  const std::shared_ptr<Worker> worker = find_id(leaving->description().id);
  if (worker == nullptr || worker != leaving) return;
  by_url_.erase(worker->url());
  by_id_.erase(worker->description().id);
  {
    const std::lock_guard lock(mutex_);
    workers_.erase(std::find(workers_.begin(), workers_.end(), worker));
    by_ref_.erase(worker->view().ref);
    by_endpoint_.erase(worker->endpoint()->ref());
  }
  set_status(*worker, SMG_STATUS_DRAINING);
  if (observer_ != nullptr) observer_->worker_left(*worker);
  free_slots_.push_back(worker->view().slot);
  show_removed(*worker);
  announce(SMG_EVENT_WORKER_REMOVED, *worker);
  changed();
}

void Registry::show_added(const Worker& worker) {
  families_.worker_health.with({worker.url()}).set(0);
  families_.worker_overloaded.with({worker.url()}).set(0);
  worker.runtime()->show();
  for (const auto& model : worker.description().models) {
    families_.workers_overloaded.with({model.id}).add(0);
  }
}

// Series cannot be taken away: they show that there is nothing to show.
void Registry::show_removed(const Worker& worker) const {
  families_.worker_health.with({worker.url()}).set(-1);
  worker.runtime()->hide();
}

bool Registry::move_workers(const TransportRef& before, const TransportPtr& after,
                            std::string& error) {
  std::vector<std::pair<std::shared_ptr<Worker>, std::shared_ptr<Endpoint>>> moves;
  for (const auto& worker : workers_) {
    const Endpoint& present = *worker->endpoint();
    if (present.transport().get() != &before) continue;
    // The same ref: to the fleet it is the same worker, at the same engine.
    auto endpoint = endpoints_.open(after, worker->description(), worker->runtime(), present.ref(),
                                    worker->view().slot, error);
    if (endpoint == nullptr) return false;
    moves.emplace_back(worker, std::move(endpoint));
  }
  for (auto& [worker, endpoint] : moves) worker->move_to(std::move(endpoint));
  if (!moves.empty()) changed();
  return true;
}

void Registry::remove_all() {
  while (!workers_.empty()) remove(workers_.back());
  publish();
}

void Registry::ready_when_published(std::shared_ptr<Worker> worker) {
  coming_.push_back(std::move(worker));
  changed();
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

std::uint32_t Registry::set_bits(LiveBlock& block, std::uint32_t mask, std::uint32_t bits) {
  const std::lock_guard lock(mutex_);
  return write_bits(block, mask, bits);
}

// The lock serialises writers only: readers load the word without it.
std::uint32_t Registry::write_bits(LiveBlock& block, std::uint32_t mask, std::uint32_t bits) {
  const std::uint32_t before = smg_worker_state(&block.live);
  const std::uint32_t after = (before & ~mask) | bits;
  // Odd while the word changes: who sees the new word sees an epoch that has moved.
  const bool moves = smg_state_eligible(before) != smg_state_eligible(after);
  if (moves) __atomic_fetch_add(&epoch_, std::uint64_t{1}, __ATOMIC_RELEASE);
  __atomic_store_n(&block.live.state, after, __ATOMIC_RELEASE);
  if (moves) __atomic_fetch_add(&epoch_, std::uint64_t{1}, __ATOMIC_RELEASE);
  return before;
}

void Registry::set_status(const Worker& worker, std::uint32_t status) {
  std::uint32_t before = 0;
  bool cleared = false;
  {
    const std::lock_guard lock(mutex_);
    if (status != SMG_STATUS_READY) cleared = flag(worker, false);
    before = write_bits(*worker.runtime(), SMG_STATE_STATUS_MASK, status) & SMG_STATE_STATUS_MASK;
  }
  if (cleared) announce_verdict(worker, false);
  if (before == status) return;
  families_.worker_health.with({worker.url()}).set(status == SMG_STATUS_READY ? 1 : 0);
  smg_event_change event{};
  event.event.struct_size = sizeof event;
  event.event.type = SMG_EVENT_WORKER_STATUS;
  event.event.worker_ref = worker.view().ref;
  event.event.worker_url = worker.view().url;
  event.before = before;
  event.after = status;
  event.text = view(status_name(status));
  bus_.publish(event.event);
  if (before == SMG_STATUS_READY && observer_ != nullptr) observer_->worker_left(worker);
}

bool Registry::set_overloaded(const Worker& worker, bool overloaded) {
  {
    const std::lock_guard lock(mutex_);
    if (!by_ref_.contains(worker.view().ref) ||
        (worker.state() & SMG_STATE_STATUS_MASK) != SMG_STATUS_READY) {
      return false;
    }
    if (!flag(worker, overloaded)) return true;
  }
  announce_verdict(worker, overloaded);
  return true;
}

bool Registry::flag(const Worker& worker, bool overloaded) {
  const bool before = (worker.state() & SMG_STATE_OVERLOADED) != 0;
  if (before == overloaded) return false;
  write_bits(*worker.runtime(), SMG_STATE_OVERLOADED, overloaded ? SMG_STATE_OVERLOADED : 0);
  // Under the same lock, so that edges cannot be shown out of order.
  for (const auto& model : worker.description().models) {
    const std::int64_t count = overloaded_[model.id] += overloaded ? 1 : -1;
    families_.workers_overloaded.with({model.id}).set(static_cast<double>(count));
  }
  families_.worker_overloaded.with({worker.url()}).set(overloaded ? 1 : 0);
  return true;
}

void Registry::announce(std::uint32_t type, const Worker& worker) {
  smg_event event{};
  event.struct_size = sizeof event;
  event.type = type;
  event.worker_ref = worker.view().ref;
  event.worker_url = worker.view().url;
  bus_.publish(event);
}

void Registry::announce_verdict(const Worker& worker, bool overloaded) {
  smg_event_change event{};
  event.event.struct_size = sizeof event;
  event.event.type = SMG_EVENT_VERDICT_CHANGED;
  event.event.worker_ref = worker.view().ref;
  event.event.worker_url = worker.view().url;
  event.before = overloaded ? 0 : 1;
  event.after = overloaded ? 1 : 0;
  bus_.publish(event.event);
}

}  // namespace smg
