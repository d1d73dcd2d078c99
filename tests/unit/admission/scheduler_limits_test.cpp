// The priority scheduler: capacity and reservations that change, start-up, gauges.
#include <doctest/doctest.h>

#include "scheduling.hpp"

namespace smg::test {
namespace {

FleetCapacity fleet(std::initializer_list<std::string_view> labels) {
  FleetCapacity made;
  for (const auto label : labels) made.add(label);
  return made;
}

TEST_CASE_FIXTURE(SchedulerDesk, "5.2.3 the capacity follows the fleet, and waiters are let in") {
  fill("bulk");
  auto line = many(6);
  for (Client* one : line) CHECK(one->enter("bulk") == Answer::waiting);
  admission().fleet_changed(fleet({"12", "3"}), now);
  loop.run();
  CHECK(line[4]->admissions == 1);
  CHECK(line[5]->admissions == 0);
  admission().fleet_changed(fleet({}), now);
  for (int i = 0; i < 5; ++i) clients[static_cast<std::size_t>(i)]->leave();
  loop.run();
  CHECK(line[5]->admissions == 0);
  clients[5]->leave();
  loop.run();
  CHECK(line[5]->admissions == 1);
}

TEST_CASE_FIXTURE(SchedulerDesk,
                  "5.2.4 reservations above the capacity: at start the limiter serves") {
  limits(system).reserved_floor = 6;
  limits(interactive).reserved_floor = 4;
  CHECK(Scheduler::problem(config).empty());
  limits(default_class).reserved_per_slot = 0.01;
  CHECK(Scheduler::problem(config) ==
        "the classes reserve room for 11 requests, and the capacity is 10; lower reserved_floor "
        "and reserved_per_slot, or raise max_concurrent_requests");
  fill("system");
  waiting("system");
  CHECK(loop.posted() == 0);
  CHECK(families.http_rate_limit.with({"allowed"}).value() == 10);
  CHECK(outcomes("system", "admitted") == 0);
}

TEST_CASE_FIXTURE(SchedulerDesk, "5.2 with a timeout of zero the limiter serves") {
  for (int rank = 0; rank < 4; ++rank) {
    const PriorityClass before = limits(rank);
    limits(rank).queue_timeout_secs = 0;
    CHECK(Scheduler::problem(config).find(
              defaults::kPriorityClasses[static_cast<std::size_t>(rank)]) != std::string::npos);
    limits(rank) = before;
    limits(rank).starvation_threshold_secs = 0;
    CHECK(Scheduler::problem(config).find("must be > 0") != std::string::npos);
    limits(rank) = before;
  }
  CHECK(Scheduler::problem(config).empty());
}

TEST_CASE_FIXTURE(SchedulerDesk, "5.2 the classes of the table fit the capacity of the start") {
  config.priority_scheduler.classes = PriorityScheduler::defaults_of_classes();
  config.admission.max_concurrent_requests = -1;
  CHECK(Scheduler::problem(config).empty());
}

TEST_CASE_FIXTURE(SchedulerDesk,
                  "5.2.4 at run time what there is goes to the highest classes first") {
  // Reservations of 4, 4 and 2.
  limits(system).reserved_floor = 4;
  limits(interactive).reserved_floor = 4;
  limits(default_class).reserved_floor = 2;
  no_preemption();
  admission().fleet_changed(fleet({"6"}), now);  // 4, 2, 0
  waiting("bulk");
  waiting("default");
  running("interactive");
  running("interactive");
  waiting("interactive");
  for (int i = 0; i < 4; ++i) running("system");
  waiting("system");
}

TEST_CASE_FIXTURE(SchedulerDesk, "5.2.4 a fleet that grows lends nothing of the new reservations") {
  limits(interactive).reserved_per_slot = 0.5;
  for (int i = 0; i < 5; ++i) running("bulk");
  Client& six = waiting("bulk");
  Client& seven = waiting("bulk");
  admission().fleet_changed(fleet({"12"}), now);  // half of it is reserved
  loop.run();
  CHECK(six.admissions == 1);
  CHECK(seven.admissions == 0);
}

TEST_CASE_FIXTURE(SchedulerDesk, "new classes and policies of tenants hold from then on") {
  fill("interactive");
  Client& one = waiting("bulk");
  config.priority_scheduler.tenant_max_class = {{"auth:acme", "bulk"}};
  limits(bulk).queue_size = 2;
  limits(bulk).queue_timeout_secs = 9;
  config.admission.max_concurrent_requests = 11;
  admission().configure(config, now);
  loop.run();
  CHECK(one.admissions == 1);
  CHECK(waiting("system", "auth:acme").ticket->deadline() == now + 9 * kSecond);
  waiting("bulk");
  refused("scheduler_queue_full", "bulk");
}

TEST_CASE_FIXTURE(SchedulerDesk, "a shorter threshold of starvation brings the next tick nearer") {
  limits(interactive).reserved_floor = 10;
  waiting("bulk");
  admission().tick(now);
  limits(bulk).starvation_threshold_secs = 1;
  admission().configure(config, now);
  CHECK(admission().tick(now) == now + kSecond);
}

TEST_CASE_FIXTURE(SchedulerDesk, "9.5 gauges are set every five seconds") {
  limits(interactive).reserved_floor = 2;
  limits(bulk).queue_size = 4;
  for (int i = 0; i < 8; ++i) running("bulk");
  waiting("bulk");
  running("system");
  CHECK(admission().tick(now) <= now + 5 * kSecond);
  const auto shown = [](Family& family, std::string_view of) { return family.with({of}).value(); };
  CHECK(shown(families.scheduler_inflight, "bulk") == 8);
  CHECK(shown(families.scheduler_inflight, "system") == 1);
  CHECK(shown(families.scheduler_queue_depth, "bulk") == 1);
  CHECK(shown(families.scheduler_queue_limit, "bulk") == 4);
  CHECK(families.scheduler_utilization.with({}).value() == doctest::Approx(0.9));
  // Eight beyond its reservation of none, and eight are nobody's; a quarter of its queue.
  CHECK(shown(families.scheduler_pressure, "bulk") == 1);
  CHECK(shown(families.scheduler_pressure, "system") == doctest::Approx(0.125));
  CHECK(shown(families.scheduler_pressure, "default") == 0);
  clients[0]->leave();
  now += 5 * kSecond - 1;
  admission().tick(now);
  CHECK(families.scheduler_utilization.with({}).value() == doctest::Approx(0.9));
  now += 1;
  admission().tick(now);
  CHECK(families.scheduler_utilization.with({}).value() == doctest::Approx(0.8));
  clients[9]->leave();
  now += 5 * kSecond;
  admission().tick(now);
  CHECK(shown(families.scheduler_inflight, "system") == 0);
}

TEST_CASE("9.5 the tenants that labels show are bounded, the clients may choose them") {
  SchedulerDesk desk;
  desk.config.priority_scheduler.default_max_class = "bulk";
  desk.config.admission.max_concurrent_requests = 65535;
  Client& one = desk.client();
  for (int i = 0; i < 3000; ++i) {
    CHECK(one.enter("nonsense", "header:" + std::to_string(i)) == Answer::admitted);
    one.leave();
  }
  CHECK(desk.families.scheduler_unknown_priority.with({"other"}).value() == 3000 - 1024);
  CHECK(desk.families.scheduler_clamp.with({"other", "default", "bulk"}).value() == 3000 - 1024);
}

}  // namespace
}  // namespace smg::test
