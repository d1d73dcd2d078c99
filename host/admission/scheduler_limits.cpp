// What the scheduler's numbers follow from: configuration, fleet, time.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>

#include "host/admission/priority_class.hpp"
#include "host/admission/scheduler.hpp"
#include "host/config/duration.hpp"

namespace smg {

std::string Scheduler::problem(const Config& config) {
  const std::uint32_t capacity = scheduler_capacity({}, config.admission.max_concurrent_requests);
  std::uint64_t reserved = 0;
  for (std::size_t rank = 0; rank < kClasses; ++rank) {
    const PriorityClass& of = config.priority_scheduler.classes[rank];
    if (of.queue_timeout_secs == 0 || of.starvation_threshold_secs == 0) {
      return "class " + std::string(defaults::kPriorityClasses[rank]) +
             " has a timeout of 0; queue_timeout_secs and starvation_threshold_secs must be > 0";
    }
    reserved += reservation(of, capacity);
  }
  if (reserved <= capacity) return {};
  return "the classes reserve room for " + std::to_string(reserved) +
         " requests, and the capacity is " + std::to_string(capacity) +
         "; lower reserved_floor and reserved_per_slot, or raise max_concurrent_requests";
}

Scheduler::Scheduler(const Config& config, Families& families)
    : clamp_(families.scheduler_clamp),
      unknown_(families.scheduler_unknown_priority),
      utilization_(families.scheduler_utilization.with({})) {
  for (std::size_t rank = 0; rank < kClasses; ++rank) {
    Class& of = classes_[rank];
    const std::string_view name = defaults::kPriorityClasses[rank];
    of.admitted = families.scheduler_admit.with({name, "admitted"});
    of.queue_full = families.scheduler_admit.with({name, "rejected_queue_full"});
    of.queue_timeout = families.scheduler_admit.with({name, "rejected_queue_timeout"});
    of.preempted = families.scheduler_admit.with({name, "preempted"});
    of.cancelled = families.scheduler_admit.with({name, "client_cancelled"});
    of.wait = families.scheduler_queue_wait.with({name});
    of.promoted = families.scheduler_starvation.with({name});
    of.inflight_shown = families.scheduler_inflight.with({name});
    of.depth_shown = families.scheduler_queue_depth.with({name});
    of.limit_shown = families.scheduler_queue_limit.with({name});
    of.pressure_shown = families.scheduler_pressure.with({name});
    for (std::size_t by = rank + 1; by < kClasses; ++by) {
      of.preemption[by] =
          families.scheduler_preemption.with({name, defaults::kPriorityClasses[by]});
    }
  }
  take_over(config);
}

void Scheduler::take_over(const Config& config) {
  for (std::size_t rank = 0; rank < kClasses; ++rank) {
    classes_[rank].limits = config.priority_scheduler.classes[rank];
  }
  default_highest_ =
      priority_rank(config.priority_scheduler.default_max_class).value_or(kDefaultRank);
  highest_.clear();
  for (const auto& [tenant, name] : config.priority_scheduler.tenant_max_class) {
    highest_.emplace(tenant, priority_rank(name).value_or(kDefaultRank));
  }
  const std::uint64_t per_second = config.admission.rate_limit_tokens_per_second.value_or(0);
  if (per_second == 0) {
    rate_.reset();
  } else if (rate_) {
    rate_->resize(per_second, per_second);
  } else {
    rate_.emplace(per_second, per_second);
  }
  without_workers_ = config.admission.max_concurrent_requests;
  set_capacity();
}

void Scheduler::set_capacity() {
  capacity_ = scheduler_capacity(fleet_, without_workers_);
  std::uint32_t left = capacity_;
  for (std::size_t rank = kClasses; rank-- > 0;) {
    Class& of = classes_[rank];
    of.reserved = std::min(left, reservation(of.limits, capacity_));
    left -= of.reserved;
  }
}

std::string Scheduler::shut_out() const {
  std::uint32_t above = 0;
  for (std::size_t rank = kClasses; rank-- > 0;) {
    above += classes_[rank].reserved;
    if (rank == 0 || above < capacity_) continue;
    return "priority scheduler: room for " + std::to_string(capacity_) + " requests, and class " +
           std::string(defaults::kPriorityClasses[rank]) +
           " with those above it reserves all of it: lower classes run only when they have "
           "waited for their starvation_threshold_secs; lower reserved_floor and "
           "reserved_per_slot in [priority_scheduler.classes.*], or give the workers a label "
           "max_running_requests";
  }
  return {};
}

void Scheduler::warn() {
  std::string now;
  {
    const std::lock_guard lock(mutex_);
    // Without workers there is nothing to run anyway.
    if (fleet_.workers > 0) now = shut_out();
    if (now == warned_) return;
    warned_ = now;
  }
  if (!now.empty()) spdlog::warn(now);
}

void Scheduler::configure(const Config& config, std::uint64_t now) {
  {
    Posts posts;
    const std::lock_guard lock(mutex_);
    take_over(config);
    dispatch(now, posts);
  }
  warn();
}

void Scheduler::fleet_changed(const FleetCapacity& fleet, std::uint64_t now) {
  {
    Posts posts;
    const std::lock_guard lock(mutex_);
    fleet_ = fleet;
    set_capacity();
    dispatch(now, posts);
  }
  warn();
}

std::uint64_t Scheduler::tick(std::uint64_t now) {
  Posts posts;
  const std::lock_guard lock(mutex_);
  dispatch(now, posts);
  if (now >= gauges_due_) {
    gauges_due_ = now + kGaugePeriod;
    show_gauges();
  }
  // Who comes after this cannot starve before the shortest threshold has passed.
  std::uint64_t due = gauges_due_;
  for (std::size_t rank = 0; rank < kStarvable; ++rank) {
    const Class& of = classes_[rank];
    const std::uint64_t threshold = seconds_to_ns(of.limits.starvation_threshold_secs);
    due = std::min(due, now + threshold);
    if (!of.queue.empty() && !is_starved(of, now)) {
      due = std::min(due, of.queue.front()->entered_ + threshold + 1);
    }
  }
  return due;
}

void Scheduler::show_gauges() const {
  std::uint32_t unreserved = capacity_;
  for (const Class& of : classes_) unreserved -= of.reserved;
  for (const Class& of : classes_) {
    of.inflight_shown.set(of.inflight);
    of.depth_shown.set(of.depth);
    of.limit_shown.set(of.limits.queue_size);
    const auto share = [](double part, double whole) {
      return part <= 0 ? 0.0 : whole <= 0 ? 1.0 : std::min(1.0, part / whole);
    };
    // What it uses beyond its reservation comes from the room that is nobody's.
    const double overflow = static_cast<double>(of.inflight) - of.reserved;
    of.pressure_shown.set(
        std::max(share(of.depth, of.limits.queue_size), share(overflow, unreserved)));
  }
  utilization_.set(capacity_ == 0 ? 0 : static_cast<double>(inflight_) / capacity_);
}

}  // namespace smg
