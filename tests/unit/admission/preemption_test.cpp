// The priority scheduler: requests that make room for others.
#include <doctest/doctest.h>

#include "scheduling.hpp"

namespace smg::test {
namespace {

TEST_CASE_FIXTURE(SchedulerDesk, "5.2.6 the victim is of the lowest class, and the newest of it") {
  for (int i = 0; i < 4; ++i) running("default");
  for (int i = 0; i < 3; ++i) running("bulk");
  for (int i = 0; i < 3; ++i) running("default");
  waiting("interactive");
  loop.run();
  CHECK(clients[6]->preemptions == 1);
  for (const auto& one : clients) CHECK(one->preemptions == (one == clients[6] ? 1 : 0));
  CHECK(families.scheduler_preemption.with({"bulk", "interactive"}).value() == 1);
  CHECK(outcomes("bulk", "preempted") == 1);
}

TEST_CASE_FIXTURE(SchedulerDesk,
                  "5.2.6 only strictly lower classes make room, one victim for each arrival") {
  for (int i = 0; i < 9; ++i) running("interactive");
  running("default");
  waiting("interactive");
  waiting("interactive");
  waiting("system");
  loop.run();
  CHECK(clients[9]->preemptions == 1);
  CHECK(clients[8]->preemptions == 1);  // for system
  int victims = 0;
  for (const auto& one : clients) victims += one->preemptions;
  CHECK(victims == 2);
}

TEST_CASE_FIXTURE(SchedulerDesk, "5.2.6 a class that does not preempt waits") {
  fill("bulk");
  waiting("default");
  loop.run();
  CHECK(clients[9]->preemptions == 0);
}

TEST_CASE_FIXTURE(SchedulerDesk, "5.2.6 nobody is preempted while there is room") {
  for (int i = 0; i < 9; ++i) running("bulk");
  running("interactive");
  CHECK(loop.posted() == 0);
}

TEST_CASE_FIXTURE(SchedulerDesk,
                  "5.2.6 the one that preempts gets the room when its victim has left") {
  fill("bulk");
  Client& next = waiting("interactive");
  CHECK(next.ticket->deadline() == now + 50 * kMillisecond);
  loop.run();
  CHECK(next.admissions == 0);
  clients[9]->leave();
  loop.run();
  CHECK(next.admissions == 1);
  CHECK(outcomes("interactive", "admitted") == 1);
}

TEST_CASE_FIXTURE(SchedulerDesk,
                  "5.2.6 if its victim does not leave in time, it waits as others do") {
  limits(interactive).queue_timeout_secs = 30;
  fill("bulk");
  Client& next = waiting("interactive");
  now += 50 * kMillisecond;
  CHECK(next.expire() == "");
  CHECK(next.ticket->deadline() == now + 30 * kSecond);
  now += 30 * kSecond;
  CHECK(next.expire() == "scheduler_queue_timeout");
}

TEST_CASE_FIXTURE(SchedulerDesk,
                  "5.2.6 before that time it takes up no room in the queue, then it must fit") {
  limits(interactive).queue_size = 1;
  for (int i = 0; i < 8; ++i) running("interactive");
  running("bulk");
  running("bulk");
  Client& one = waiting("interactive");
  Client& two = waiting("interactive");
  Client& three = waiting("interactive");  // without a victim
  refused("scheduler_queue_full", "interactive");
  now += 50 * kMillisecond;
  CHECK(one.expire() == "scheduler_queue_full");
  CHECK(one.refusal.status == 429);
  three.leave();
  CHECK(two.expire() == "");
  CHECK(two.ticket->deadline() == now + 30 * kSecond);
  CHECK(outcomes("interactive", "rejected_queue_full") == 2);
}

TEST_CASE_FIXTURE(SchedulerDesk,
                  "5.2.6 room that a later victim leaves goes to the one who came first") {
  fill("bulk");
  Client& first = waiting("interactive");
  Client& second = waiting("interactive");
  loop.run();
  clients[8]->leave();  // the victim of the second
  loop.run();
  CHECK(first.admissions == 1);
  CHECK(second.admissions == 0);
}

TEST_CASE_FIXTURE(SchedulerDesk, "5.2.9 from its first byte on a request is immune") {
  fill("bulk");
  for (int i = 0; i < 9; ++i) CHECK(clients[static_cast<std::size_t>(i)]->ticket->begin_data());
  waiting("interactive");
  CHECK_FALSE(clients[9]->ticket->begin_data());
  CHECK_FALSE(clients[9]->ticket->begin_data());
  waiting("interactive");
  waiting("system");
  loop.run();
  for (int i = 0; i < 9; ++i) {
    CHECK(clients[static_cast<std::size_t>(i)]->preemptions == 0);
    CHECK(clients[static_cast<std::size_t>(i)]->ticket->begin_data());
  }
  CHECK(clients[9]->preemptions == 1);
}

TEST_CASE_FIXTURE(SchedulerDesk,
                  "5.2.9 the answer of a victim is 503, to be tried again after a second") {
  CHECK(kPreemptedRefusal.status == 503);
  CHECK(kPreemptedRefusal.code == "scheduler_preempted");
  CHECK(kPreemptedRefusal.retry_after_secs == 1);
}

TEST_CASE_FIXTURE(SchedulerDesk,
                  "5.2.9 a victim that has left is not told, and its next request is its own") {
  fill("bulk");
  waiting("interactive");
  clients[9]->leave();
  CHECK(clients[9]->ticket->begin_data());  // of what is answered without admission
  loop.run();
  CHECK(clients[9]->preemptions == 0);
  clients[8]->leave();
  CHECK(clients[9]->enter("bulk") == Answer::admitted);
  CHECK(clients[9]->ticket->begin_data());
}

TEST_CASE_FIXTURE(SchedulerDesk, "5.2.6 one whose grant has not arrived is no victim") {
  fill("default");
  Client& next = waiting("bulk");
  clients[0]->leave();
  for (const auto& one : clients) one->ticket->begin_data();
  waiting("interactive");
  loop.run();
  CHECK(next.admissions == 1);
  CHECK(next.preemptions == 0);
}

}  // namespace
}  // namespace smg::test
