// The priority scheduler: who is admitted, who waits, in which order. Preemption: see
// preemption_test.cpp.
#include <doctest/doctest.h>

#include "scheduling.hpp"

namespace smg::test {
namespace {

TEST_CASE_FIXTURE(SchedulerDesk, "5.2.1 no class, or an unknown one, is the default class") {
  running();
  CHECK(families.scheduler_unknown_priority.with({"anonymous"}).value() == 0);
  running("urgent", "auth:acme");
  CHECK(families.scheduler_unknown_priority.with({"auth:acme"}).value() == 1);
  CHECK(outcomes("default", "admitted") == 2);
  CHECK(families.scheduler_clamp.with({"auth:acme", "default", "default"}).value() == 0);
}

TEST_CASE_FIXTURE(SchedulerDesk, "5.2.1 no request is above the highest class of its tenant") {
  config.priority_scheduler.default_max_class = "default";
  config.priority_scheduler.tenant_max_class = {{"auth:ops", "system"}, {"auth:batch", "bulk"}};
  running("system", "auth:ops");
  running("interactive", "auth:ops");
  running("system", "auth:acme");
  running("bulk", "auth:acme");
  running("", "auth:batch");
  CHECK(outcomes("system", "admitted") == 1);
  CHECK(outcomes("interactive", "admitted") == 1);
  CHECK(outcomes("default", "admitted") == 1);
  CHECK(outcomes("bulk", "admitted") == 2);
  CHECK(families.scheduler_clamp.with({"auth:acme", "system", "default"}).value() == 1);
  CHECK(families.scheduler_clamp.with({"auth:batch", "default", "bulk"}).value() == 1);
}

TEST_CASE_FIXTURE(SchedulerDesk, "5.2.5 lower classes leave alone what higher ones reserve") {
  // Of 10: system 2, interactive 3, default 1.
  limits(system).reserved_floor = 2;
  limits(interactive).reserved_floor = 3;
  limits(default_class).reserved_floor = 1;
  for (int i = 0; i < 4; ++i) running("bulk");
  waiting("bulk");
  running("default");
  waiting("default");
  for (int i = 0; i < 3; ++i) running("interactive");
  waiting("interactive");
  for (int i = 0; i < 2; ++i) running("system");
  waiting("system");
}

TEST_CASE_FIXTURE(SchedulerDesk, "5.2.5 a reservation that is in use is not reserved twice") {
  limits(interactive).reserved_floor = 4;
  for (int i = 0; i < 6; ++i) running("interactive");
  for (int i = 0; i < 4; ++i) running("bulk");
  waiting("bulk");
}

TEST_CASE_FIXTURE(SchedulerDesk, "5.2.7 a full queue refuses with 429, each class has its own") {
  limits(bulk).queue_size = 2;
  fill("default");
  waiting("bulk");
  waiting("bulk");
  Client& next = client();
  CHECK(next.enter("bulk") == Answer::refused);
  CHECK(next.refusal.status == 429);
  CHECK(next.refusal.code == "scheduler_queue_full");
  CHECK(next.refusal.retry_after_secs == 2);
  waiting("default");
  CHECK(outcomes("bulk", "rejected_queue_full") == 1);
}

TEST_CASE_FIXTURE(SchedulerDesk, "5.2.7 a wait that is too long ends with 503") {
  limits(bulk).queue_timeout_secs = 300;
  fill("default");
  Client& next = waiting("bulk");
  CHECK(next.ticket->deadline() == now + 300 * kSecond);
  now += 300 * kSecond - 1;
  CHECK(next.expire() == "");
  now += 1;
  CHECK(next.expire() == "scheduler_queue_timeout");
  CHECK(next.refusal.status == 503);
  CHECK(next.refusal.retry_after_secs == 2);
  CHECK(outcomes("bulk", "rejected_queue_timeout") == 1);
  clients[0]->leave();
  CHECK(loop.posted() == 0);
}

TEST_CASE_FIXTURE(SchedulerDesk, "5.2.7 a class is served in the order of its coming") {
  fill("default");
  auto line = many(4);
  for (Client* one : line) CHECK(one->enter("bulk") == Answer::waiting);
  line[1]->leave();
  CHECK(outcomes("bulk", "client_cancelled") == 1);
  for (int i = 0; i < 3; ++i) clients[static_cast<std::size_t>(i)]->leave();
  Client& late = client();
  CHECK(late.enter("bulk") == Answer::waiting);
  CHECK(loop.posted() == 3);
  for (Client* one : {line[0], line[2], line[3]}) {
    loop.run_one();
    CHECK(one->admissions == 1);
  }
}

TEST_CASE_FIXTURE(SchedulerDesk, "5.2.8 free room goes to the highest class that waits") {
  no_preemption();
  fill("default");
  Client& one = waiting("bulk");
  Client& two = waiting("default");
  Client& three = waiting("interactive");
  Client& four = waiting("system");
  int next = 0;
  for (Client* expected : {&four, &three, &two, &one}) {
    clients[static_cast<std::size_t>(next++)]->leave();
    loop.run();
    CHECK(expected->admissions == 1);
  }
}

TEST_CASE_FIXTURE(SchedulerDesk,
                  "5.2.8 starved heads go first, bulk before default before interactive") {
  no_preemption();
  for (const int rank : {bulk, default_class, interactive, system}) {
    limits(rank).starvation_threshold_secs = 5;
  }
  fill("default");
  Client& four = waiting("system");
  Client& three = waiting("interactive");
  Client& two = waiting("default");
  Client& one = waiting("bulk");
  now += 5 * kSecond;
  SUBCASE("not at the threshold") {
    clients[0]->leave();
    loop.run();
    CHECK(four.admissions == 1);
    CHECK(families.scheduler_starvation.with({"bulk"}).value() == 0);
  }
  SUBCASE("above it") {
    now += 1;
    int next = 0;
    for (Client* expected : {&one, &two, &three, &four}) {
      clients[static_cast<std::size_t>(next++)]->leave();
      loop.run();
      CHECK(expected->admissions == 1);
    }
    CHECK(families.scheduler_starvation.with({"bulk"}).value() == 1);
    CHECK(families.scheduler_starvation.with({"interactive"}).value() == 1);
    CHECK(families.scheduler_starvation.with({"system"}).value() == 0);
  }
}

TEST_CASE_FIXTURE(SchedulerDesk,
                  "5.2.8 a starved head is let in by time alone, into reserved room") {
  limits(interactive).reserved_floor = 10;
  limits(bulk).starvation_threshold_secs = 12;
  Client& one = waiting("bulk");
  now += kSecond;
  Client& two = waiting("bulk");
  const std::uint64_t due = one.ticket->deadline() - 300 * kSecond + 12 * kSecond + 1;
  while (admission().tick(now) < due) {
    REQUIRE(admission().tick(now) > now);
    now = admission().tick(now);
  }
  CHECK(admission().tick(now) == due);
  CHECK(loop.posted() == 0);
  now = due;
  admission().tick(now);
  loop.run();
  CHECK(one.admissions == 1);
  CHECK(two.admissions == 0);
  now += kSecond;
  admission().tick(now);
  loop.run();
  CHECK(two.admissions == 1);
}

TEST_CASE_FIXTURE(SchedulerDesk, "5.2.8 a starved head gets no more than the capacity") {
  limits(bulk).starvation_threshold_secs = 1;
  fill("bulk");
  waiting("bulk");
  now += 3600 * kSecond;
  admission().tick(now);
  CHECK(loop.posted() == 0);
}

TEST_CASE_FIXTURE(SchedulerDesk,
                  "5.2.8 waiters that starve together are all let in when there is room") {
  limits(interactive).reserved_floor = 10;
  limits(bulk).starvation_threshold_secs = 1;
  auto line = many(12);
  for (Client* one : line) CHECK(one->enter("bulk") == Answer::waiting);
  now += kSecond + 1;
  admission().tick(now);
  loop.run();
  int admitted = 0;
  for (Client* one : line) admitted += one->admissions;
  CHECK(admitted == 10);
  CHECK(line[9]->admissions == 1);
}

TEST_CASE_FIXTURE(SchedulerDesk, "5.2.10 room is held until the body has ended") {
  fill("default");
  Client& next = waiting("default");
  CHECK(clients[0]->ticket->begin_data());
  now += 50 * kSecond;
  CHECK(next.expire() == "");
  CHECK(next.admissions == 0);
  clients[0]->leave();
  loop.run();
  CHECK(next.admissions == 1);
  CHECK(families.scheduler_queue_wait.with({"default"}).value() == 1);
}

TEST_CASE_FIXTURE(SchedulerDesk,
                  "5.2.11 a rate is checked before admission, and gives nothing back") {
  config.admission.rate_limit_tokens_per_second = 3;
  for (int i = 0; i < 3; ++i) running().leave();
  Client& next = client();
  CHECK(next.enter() == Answer::refused);
  CHECK(next.refusal.status == 429);
  CHECK(next.refusal.code == "scheduler_queue_full");
  CHECK(next.refusal.retry_after_secs == 2);
  now += kSecond / 3;
  CHECK(next.enter() == Answer::refused);
  now += 1;
  CHECK(next.enter() == Answer::admitted);
}

}  // namespace
}  // namespace smg::test
