// A scheduler of capacity 10 whose classes reserve nothing, with queues of 100.
#pragma once

#include "desk.hpp"
#include "host/admission/scheduler.hpp"

namespace smg::test {

struct SchedulerDesk : Desk {
  enum Rank { bulk, default_class, interactive, system };

  SchedulerDesk() {
    config.admission.max_concurrent_requests = 10;
    config.priority_scheduler.enabled = true;
    config.priority_scheduler.default_max_class = "system";
    for (PriorityClass& of : config.priority_scheduler.classes) {
      of.reserved_floor = 0;
      of.reserved_per_slot = 0;
      of.queue_size = 100;
    }
  }
  PriorityClass& limits(int rank) {
    return config.priority_scheduler.classes[static_cast<std::size_t>(rank)];
  }
  void no_preemption() {
    for (PriorityClass& of : config.priority_scheduler.classes) of.can_preempt = false;
  }
  // Takes all room there is, clients[0] first.
  void fill(std::string_view priority) {
    for (int i = 0; i < 10; ++i) running(priority);
  }
  double outcomes(std::string_view of, std::string_view outcome) {
    return families.scheduler_admit.with({of, outcome}).value();
  }
};

}  // namespace smg::test
