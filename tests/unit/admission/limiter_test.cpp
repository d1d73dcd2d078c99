// The concurrency limiter: tokens, refill, counters, other limits while it runs.
#include <doctest/doctest.h>

#include "desk.hpp"

namespace smg::test {
namespace {

TEST_CASE_FIXTURE(Desk, "5.1.1 without a limit all requests are admitted and none is counted") {
  for (const std::int64_t limit : {-1, 0}) {
    config.admission.max_concurrent_requests = limit;
    const auto off = make_admission(config, families, {});
    Client one(*off, loop, now);
    for (int i = 0; i < 1000; ++i) CHECK(one.enter() == Answer::admitted);
    one.leave();
    CHECK(off->tick(now) == Admission::kNever);
  }
  CHECK(families.http_rate_limit.with({"allowed"}).value() == 0);
  CHECK(families.admission_inflight.value() == 0);
}

TEST_CASE_FIXTURE(Desk, "5.1.1 the bucket starts full and each request takes one token") {
  config.admission.max_concurrent_requests = 3;
  for (int i = 0; i < 3; ++i) running();
  waiting();
}

TEST_CASE_FIXTURE(Desk, "5.1.2 without a rate nothing is refilled, however long it takes") {
  for (const auto rate : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(0)}) {
    config.admission.rate_limit_tokens_per_second = rate;
    config.admission.queue_timeout_secs = 1'000'000;
    const auto limiter = make_admission(config, families, {});
    std::vector<std::unique_ptr<Client>> some;
    for (int i = 0; i < 3; ++i) some.push_back(std::make_unique<Client>(*limiter, loop, now));
    CHECK(some[0]->enter() == Answer::admitted);
    CHECK(some[1]->enter() == Answer::admitted);
    CHECK(some[2]->enter() == Answer::waiting);
    now += 100'000 * kSecond;
    CHECK(limiter->tick(now) == Admission::kNever);
    loop.run();
    CHECK(some[2]->admissions == 0);
    some.clear();
    loop.run();  // before the limiter goes
  }
}

TEST_CASE_FIXTURE(Desk,
                  "5.1.2 a rate refills steadily, and a waiter gets the token when it is whole") {
  config.admission.rate_limit_tokens_per_second = 4;
  running();
  running();
  CHECK(wakes == 0);
  Client& first = waiting();
  Client& second = waiting();
  CHECK(wakes == 1);  // the second one waits for the first
  CHECK(admission().tick(now) == now + kSecond / 4);
  now += kSecond / 4 - 1;
  admission().tick(now);
  CHECK(loop.posted() == 0);
  now += 1;
  CHECK(admission().tick(now) == now + kSecond / 4);
  loop.run();
  CHECK(first.admissions == 1);
  CHECK(second.admissions == 0);
  now += kSecond / 4;
  CHECK(admission().tick(now) == Admission::kNever);
  loop.run();
  CHECK(second.admissions == 1);
}

TEST_CASE_FIXTURE(Desk, "5.1.2 the refill ends at the capacity") {
  config.admission.rate_limit_tokens_per_second = 1000;
  auto first = many(2);
  for (Client* one : first) CHECK(one->enter() == Answer::admitted);
  now += 3600 * kSecond;
  for (int i = 0; i < 2; ++i) running();
  waiting();
}

TEST_CASE_FIXTURE(Desk, "5.1.2 a clock that steps back refills nothing twice") {
  config.admission.rate_limit_tokens_per_second = 1;
  running();
  running();
  waiting();
  waiting();
  now += kSecond;
  admission().tick(now);
  now -= kSecond / 2;
  admission().tick(now);
  now += kSecond / 2;
  admission().tick(now);
  CHECK(loop.posted() == 1);
}

TEST_CASE_FIXTURE(Desk, "5.1.3 a token comes back when the answer is finished, not before") {
  Client& one = running();
  running();
  now += 500 * kSecond;
  Client& next = client();
  CHECK(next.enter() == Answer::waiting);
  next.leave();
  one.leave();
  CHECK(next.enter() == Answer::admitted);
  one.leave();  // has nothing any more
  waiting();
}

TEST_CASE_FIXTURE(Desk, "5.1.6 counters tell allowed, rejected, depth and requests that run") {
  config.admission.max_concurrent_requests = 1;
  config.admission.queue_size = 2;
  Client& one = running();
  Client& two = waiting();
  Client& three = waiting();
  refused("admission_queue_full");
  CHECK(families.admission_queue_depth.value() == 2);
  CHECK(families.admission_inflight.value() == 1);
  CHECK(families.http_rate_limit.with({"allowed"}).value() == 1);
  CHECK(families.http_rate_limit.with({"rejected"}).value() == 1);
  CHECK(families.admission_queue_rejected.with({"full"}).value() == 1);
  one.leave();
  CHECK(families.admission_queue_depth.value() == 1);
  loop.run();
  CHECK(families.http_rate_limit.with({"allowed"}).value() == 2);
  now += 60 * kSecond;
  CHECK(three.expire() == "admission_queue_timeout");
  CHECK(families.http_rate_limit.with({"rejected"}).value() == 2);
  CHECK(families.admission_queue_rejected.with({"timeout"}).value() == 1);
  two.leave();
  CHECK(families.admission_queue_depth.value() == 0);
  CHECK(families.admission_inflight.value() == 0);
}

TEST_CASE_FIXTURE(Desk, "5.1.6 without a queue a rejection does not count as one of the queue") {
  config.admission.max_concurrent_requests = 1;
  config.admission.queue_size = 0;
  running();
  refused("admission_queue_full");
  CHECK(families.http_rate_limit.with({"rejected"}).value() == 1);
  CHECK(families.admission_queue_rejected.with({"full"}).value() == 0);
}

TEST_CASE_FIXTURE(Desk, "a higher limit lets waiters in, a lower one lets those that run end") {
  auto first = many(2);
  for (Client* one : first) CHECK(one->enter() == Answer::admitted);
  auto later = many(3);
  for (Client* one : later) CHECK(one->enter() == Answer::waiting);
  config.admission.max_concurrent_requests = 4;
  admission().configure(config, now);
  loop.run();
  CHECK(later[0]->admissions + later[1]->admissions == 2);
  CHECK(later[2]->admissions == 0);
  config.admission.max_concurrent_requests = 1;
  admission().configure(config, now);
  for (Client* one : first) one->leave();
  later[0]->leave();
  loop.run();
  CHECK(later[2]->admissions == 0);  // one runs yet
  later[1]->leave();
  loop.run();
  CHECK(later[2]->admissions == 1);
}

TEST_CASE_FIXTURE(Desk, "the limiter can be turned off and on while requests run") {
  auto first = many(2);
  for (Client* one : first) CHECK(one->enter() == Answer::admitted);
  auto later = many(2);
  for (Client* one : later) CHECK(one->enter() == Answer::waiting);
  config.admission.max_concurrent_requests = -1;
  admission().configure(config, now);
  loop.run();
  for (Client* one : later) CHECK(one->admissions == 1);
  Client& free = running();
  config.admission.max_concurrent_requests = 3;
  admission().configure(config, now);
  Client& waits = waiting();
  free.leave();  // holds no token
  first[0]->leave();
  loop.run();
  CHECK(waits.admissions == 0);
  first[1]->leave();
  loop.run();
  CHECK(waits.admissions == 1);
  waits.leave();
  for (Client* one : later) one->leave();
  for (int i = 0; i < 3; ++i) running();
  waiting();
}

TEST_CASE_FIXTURE(Desk, "5.1.2 a rate that is set while requests wait serves them") {
  running();
  running();
  Client& waits = waiting();
  config.admission.rate_limit_tokens_per_second = 2;
  admission().configure(config, now);
  CHECK(wakes == 1);
  CHECK(admission().tick(now) == now + kSecond / 2);
  now += kSecond / 2;
  admission().tick(now);
  loop.run();
  CHECK(waits.admissions == 1);
}

TEST_CASE_FIXTURE(Desk, "new limits of the queue hold for those that come after") {
  config.admission.max_concurrent_requests = 1;
  running();
  Client& before = waiting();
  const std::uint64_t deadline = before.ticket->deadline();
  config.admission.queue_size = 2;
  config.admission.queue_timeout_secs = 5;
  admission().configure(config, now);
  CHECK(before.ticket->deadline() == deadline);
  CHECK(waiting().ticket->deadline() == now + 5 * kSecond);
  refused("admission_queue_full");
}

}  // namespace
}  // namespace smg::test
