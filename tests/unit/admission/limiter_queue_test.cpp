// The queue before the concurrency limiter.
#include <doctest/doctest.h>

#include "desk.hpp"

namespace smg::test {
namespace {

struct One : Desk {
  One() { config.admission.max_concurrent_requests = 1; }
};

TEST_CASE_FIXTURE(One, "5.1.4 without a queue a request is refused with 429") {
  config.admission.queue_size = 0;
  running();
  Client& next = client();
  CHECK(next.enter() == Answer::refused);
  CHECK(next.refusal.status == 429);
  CHECK(next.refusal.code == "admission_queue_full");
  CHECK(next.refusal.retry_after_secs == 2);
  CHECK(next.ticket->deadline() == 0);
}

TEST_CASE_FIXTURE(One, "5.1.4 when as many wait as may wait the next one is refused with 429") {
  config.admission.queue_size = 3;
  running();
  for (int i = 0; i < 3; ++i) waiting();
  Client& next = client();
  CHECK(next.enter() == Answer::refused);
  CHECK(next.refusal.status == 429);
  CHECK(next.refusal.code == "admission_queue_full");
  CHECK(next.refusal.retry_after_secs == 2);
}

TEST_CASE_FIXTURE(One, "5.1.4 a wait that is too long ends with 503, and not before its time") {
  config.admission.queue_timeout_secs = 7;
  running();
  Client& next = waiting();
  CHECK(next.ticket->deadline() == now + 7 * kSecond);
  now += 7 * kSecond - 1;
  CHECK(next.expire() == "");
  CHECK(next.ticket->deadline() == now + 1);
  now += 1;
  CHECK(next.expire() == "admission_queue_timeout");
  CHECK(next.refusal.status == 503);
  CHECK(next.refusal.retry_after_secs == 2);
  CHECK(next.ticket->deadline() == 0);
  CHECK(next.expire() == "");
}

TEST_CASE_FIXTURE(One, "5.1.4 waiters are served in the order of their coming") {
  Client* last = &running();
  auto line = many(5);
  for (Client* one : line) CHECK(one->enter() == Answer::waiting);
  for (Client* one : line) {
    last->leave();
    CHECK(loop.posted() == 1);
    loop.run();
    CHECK(one->admissions == 1);
    last = one;
  }
}

TEST_CASE_FIXTURE(One,
                  "5.1.5 an arrival does not overtake a waiter whose grant is still on its way") {
  Client& one = running();
  Client& two = waiting();
  one.leave();
  Client& three = waiting();
  loop.run();
  CHECK(two.admissions == 1);
  CHECK(three.admissions == 0);
}

TEST_CASE_FIXTURE(One, "5.1.5 a cancelled waiter leaves the queue without a trace") {
  config.admission.queue_size = 3;
  Client& one = running();
  auto line = many(3);
  for (Client* waiter : line) CHECK(waiter->enter() == Answer::waiting);
  line[0]->leave();
  line[1]->leave();
  CHECK(line[0]->ticket->deadline() == 0);
  CHECK(families.admission_queue_depth.value() == 1);
  one.leave();
  loop.run();
  CHECK(line[0]->admissions + line[1]->admissions == 0);
  CHECK(line[2]->admissions == 1);
}

TEST_CASE_FIXTURE(One, "5.1.5 a waiter that is cancelled before its grant arrives gives it on") {
  Client& one = running();
  Client& two = waiting();
  Client& three = waiting();
  one.leave();
  two.leave();
  loop.run();
  CHECK(two.admissions == 0);
  CHECK(three.admissions == 1);
  CHECK(families.http_rate_limit.with({"allowed"}).value() == 2);
  three.leave();
  running();
}

TEST_CASE_FIXTURE(One, "5.1.5 a grant counts against the timeout that comes at the same moment") {
  Client& one = running();
  Client& two = waiting();
  one.leave();
  now += 60 * kSecond;
  CHECK(two.expire() == "");
  CHECK(two.ticket->deadline() == 0);
  loop.run();
  CHECK(two.admissions == 1);
}

TEST_CASE_FIXTURE(One, "5.1.5 the place in the queue is free when the token is granted") {
  config.admission.queue_size = 1;
  Client& one = running();
  waiting();
  refused("admission_queue_full");
  one.leave();
  waiting();  // although the grant has not arrived
}

TEST_CASE_FIXTURE(One, "5.1.5 ten thousand cancelled waiters leave the full capacity behind") {
  config.admission.queue_size = 10'000;
  Client& one = running();
  auto line = many(10'000);
  for (Client* waiter : line) CHECK(waiter->enter() == Answer::waiting);
  for (Client* waiter : line) waiter->leave();
  CHECK(families.admission_queue_depth.value() == 0);
  one.leave();
  loop.run();
  CHECK(families.admission_inflight.value() == 0);
  running();
  waiting();
}

}  // namespace
}  // namespace smg::test
