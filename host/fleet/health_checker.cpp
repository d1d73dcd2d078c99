#include "host/fleet/health_checker.hpp"

#include <spdlog/spdlog.h>

#include "host/base/views.hpp"
#include "host/config/duration.hpp"
#include "host/fleet/probes.hpp"

namespace smg {

struct HealthChecker::Entry : std::enable_shared_from_this<Entry> {
  HealthChecker* owner = nullptr;  // nullptr: it is gone
  std::shared_ptr<Worker> worker;  // nullptr: not watched any more
  HealthState state{1, 1};
  std::uint64_t interval = 0;
  std::uint64_t timeout = 0;
  std::uint64_t answered_at = 0;  // the last time; 0: never
  bool is_due_later = false;      // the timer runs
  struct Timer : smg_timer {
    Entry* entry;
  } timer{};
};

HealthChecker::HealthChecker(Loop& control, Registry& registry, Families& families,
                             const Config& config)
    : control_(control), registry_(registry), families_(families), config_(config) {}

HealthChecker::~HealthChecker() {
  for (const auto& [ref, entry] : entries_) {
    control_.clear_timer(&entry->timer);
    entry->owner = nullptr;
    entry->worker.reset();
  }
}

bool HealthChecker::is_off(const Worker& worker) const {
  const auto& own = worker.description().health;
  return own.disable_health_check.value_or(config_.health_check.disable_health_check);
}

bool HealthChecker::watches(const Worker& worker) const {
  if (is_off(worker)) return false;
  const std::uint32_t status = worker.state() & SMG_STATE_STATUS_MASK;
  return status == SMG_STATUS_READY || status == SMG_STATUS_NOT_READY;
}

void HealthChecker::fleet_changed() {
  const auto fleet = registry_.snapshot();
  std::erase_if(entries_, [&](const auto& item) {
    Entry& entry = *item.second;
    if (registry_.find(item.first) != nullptr && watches(*entry.worker)) return false;
    control_.clear_timer(&entry.timer);
    entry.worker.reset();
    return true;
  });
  for (const auto& worker : fleet->workers) {
    if (!watches(*worker)) continue;
    auto& entry = entries_[worker->view().ref];
    if (entry != nullptr) continue;
    entry = std::make_shared<Entry>();
    entry->owner = this;
    entry->worker = worker;
    configure(*entry);
    entry->timer.fired = due;
    entry->timer.entry = entry.get();
    entry->is_due_later = true;
    control_.set_timer(&entry->timer, control_.now());
  }
}

void HealthChecker::configure(Entry& entry) const {
  const auto& own = entry.worker->description().health;
  const auto& common = config_.health_check;
  entry.state.configure(own.success_threshold.value_or(common.success_threshold),
                        own.failure_threshold.value_or(common.failure_threshold));
  const std::uint64_t interval = own.check_interval_secs.value_or(0);
  entry.interval = seconds_to_ns(interval == 0 ? common.check_interval_secs : interval);
  const std::uint64_t timeout = own.timeout_secs.value_or(0);
  entry.timeout = seconds_to_ns(timeout == 0 ? common.timeout_secs : timeout);
}

void HealthChecker::config_changed() {
  for (const auto& [ref, entry] : entries_) {
    configure(*entry);
    if (entry->is_due_later && entry->answered_at != 0) {
      control_.set_timer(&entry->timer, entry->answered_at + entry->interval);
    }
  }
  // Nobody would look again at what an earlier probe took out.
  const auto present = registry_.present();
  for (const auto& worker : present) {
    const std::uint32_t status = worker->state() & SMG_STATE_STATUS_MASK;
    const bool is_out = status == SMG_STATUS_NOT_READY || status == SMG_STATUS_FAILED;
    if (is_out && is_off(*worker)) registry_.set_status(*worker, SMG_STATUS_READY);
  }
  fleet_changed();
}

void HealthChecker::probe_soon() {
  for (const auto& [ref, entry] : entries_) {
    if (entry->timer.host_link != nullptr) control_.set_timer(&entry->timer, control_.now());
  }
}

void HealthChecker::due(smg_timer* timer) {
  Entry& entry = *static_cast<Entry::Timer*>(timer)->entry;
  HealthChecker& self = *entry.owner;
  entry.is_due_later = false;
  if (self.running_ >= kMostProbes) {
    self.waiting_.push_back(entry.weak_from_this());
  } else {
    self.ask(entry.shared_from_this());
  }
}

void HealthChecker::ask(const std::shared_ptr<Entry>& entry) {
  ++running_;
  smg_probe probe{};
  probe.struct_size = sizeof probe;
  probe.what = SMG_PROBE_HEALTH;
  probe.timeout_ns = entry->timeout;
  probe.health_path = view(config_.health_check.endpoint);
  // The answer keeps the endpoint, which the worker may leave meanwhile.
  const std::shared_ptr<Endpoint> endpoint = entry->worker->endpoint();
  start_probe(*endpoint, probe,
              [entry, endpoint](const smg_probe_result& result) { probed(entry, result); });
}

void HealthChecker::probed(const std::shared_ptr<Entry>& entry, const smg_probe_result& result) {
  HealthChecker* const self = entry->owner;
  if (self == nullptr) return;
  --self->running_;
  // What was asked of a worker that has been replaced since says nothing about the one there now.
  if (entry->worker != nullptr) {
    self->answered(*entry, result.healthy != 0, text(result.detail));
  }
  while (!self->waiting_.empty() && self->running_ < kMostProbes) {
    const auto next = self->waiting_.front().lock();
    self->waiting_.pop_front();
    if (next != nullptr && next->worker != nullptr) self->ask(next);
  }
}

void HealthChecker::answered(Entry& entry, bool healthy, std::string_view detail) {
  const std::shared_ptr<Worker> worker = entry.worker;
  families_.worker_health_checks
      .with({worker_type_name(worker->view().type), healthy ? "success" : "failure"})
      .add();
  if (healthy) worker->runtime()->liveness().contact(control_.now(), "probe");
  const std::uint32_t before = worker->state() & SMG_STATE_STATUS_MASK;
  const std::uint32_t after = entry.state.probed(before, healthy);
  entry.answered_at = control_.now();
  if (after != SMG_STATUS_FAILED) {
    entry.is_due_later = true;
    control_.set_timer(&entry.timer, control_.now() + entry.interval);
  }
  if (after == before) return;
  if (after == SMG_STATUS_READY) {
    spdlog::info("worker {} is ready again", worker->url());
  } else {
    spdlog::warn("worker {} is {}: {}", worker->url(), status_name(after), detail);
  }
  registry_.set_status(*worker, after);
  if (after != SMG_STATUS_FAILED) return;
  entry.worker.reset();
  entries_.erase(worker->view().ref);
  if (config_.health_check.remove_unhealthy_workers) registry_.remove(worker);
}

}  // namespace smg
