// Rows of [admission] and [priority_scheduler].
#include "host/config/settings_rows.hpp"

namespace smg {

// The table of classes as the specification of the scheduler has it.
std::array<PriorityClass, 4> PriorityScheduler::defaults_of_classes() {
  return {{{0, 0.0, 1024, 300, 120, false},
           {0, 0.10, 512, 60, 30, false},
           {128, 0.25, 256, 30, 5, true},
           {32, 0.0, 64, 30, 5, true}}};
}

namespace rows {

void add_admission_rows(Table& table) {
  const auto add = [&](Setting setting) { table.push_back(std::move(setting)); };
  add(ranged(row("admission", "max_concurrent_requests", "max-concurrent-requests",
                 SMG_AT(admission.max_concurrent_requests),
                 "requests that may run at once; 0 or less: any number"),
             -1, 1e9, ""));
  add(ranged(row("admission", "queue_size", "queue-size", SMG_AT(admission.queue_size),
                 "requests that may wait for room; 0: none"),
             0, 1e7, ""));
  add(row("admission", "queue_timeout_secs", "queue-timeout-secs",
          SMG_AT(admission.queue_timeout_secs), "longest wait for room"));
  add(ranged(row("admission", "rate_limit_tokens_per_second", "rate-limit-tokens-per-second",
                 SMG_AT(admission.rate_limit_tokens_per_second),
                 "requests per second that get room beyond what running ones give back; 0: none"),
             0, 1e9, ""));
  add(row("priority_scheduler", "enabled", "priority-scheduler-enabled",
          SMG_AT(priority_scheduler.enabled), "admit by priority, in place of one queue"));
  add(one_of(row("priority_scheduler", "default_max_class", "priority-scheduler-default-max-class",
                 SMG_AT(priority_scheduler.default_max_class),
                 "highest class of tenants without a policy of their own"),
             {defaults::kPriorityClasses.begin(), defaults::kPriorityClasses.end()}));
  add(row("priority_scheduler", "config", "priority-scheduler-config",
          SMG_AT(priority_scheduler.config), "a TOML file with the classes and tenant policies"));
  add(row("priority_scheduler", "tenant_metric_top_n", "priority-scheduler-tenant-metric-top-n",
          SMG_AT(priority_scheduler.tenant_metric_top_n), "accepted for compatibility, not used"));
}

}  // namespace rows
}  // namespace smg
