// Admission as a part of the gateway: when it is made, when it looks at the time, what it hears of
// the fleet. Control loop.
#include <algorithm>

#include "host/gateway.hpp"

namespace smg {

void Gateway::create_admission() {
  Loop& control = loops_.control();
  admission_wake_.owner = this;
  admission_wake_.run = [](smg_task* task) {
    auto& wake = *static_cast<Wake*>(task);
    wake.posted = false;
    wake.owner->tick_admission();
  };
  admission_ = make_admission(config_, families_, [this, &control] {
    if (!admission_wake_.posted.exchange(true)) control.post(&admission_wake_);
  });
  admission_tick_.owner = this;
  admission_tick_.fired = [](smg_timer* timer) {
    static_cast<Timer*>(timer)->owner->tick_admission();
  };
  tick_admission();
}

void Gateway::tick_admission() {
  Loop& control = loops_.control();
  const std::uint64_t due = admission_->tick(control.now());
  if (due != Admission::kNever) control.set_timer(&admission_tick_, due);
}

void Gateway::count_capacity() {
  if (!config_.priority_scheduler.enabled) return;  // nobody else asks
  FleetCapacity fleet;
  for (const auto& worker : registry_->snapshot()->workers) {
    if ((worker->state() & SMG_STATE_STATUS_MASK) != SMG_STATUS_READY) continue;
    const auto& labels = worker->description().labels;
    const auto label = std::find_if(labels.begin(), labels.end(), [](const auto& entry) {
      return entry.first == "max_running_requests";
    });
    fleet.add(label == labels.end() ? std::string_view{} : std::string_view(label->second));
  }
  admission_->fleet_changed(fleet, loops_.control().now());
}

}  // namespace smg
