// Tickets: what arrives late, and whose holder is gone.
#include <doctest/doctest.h>

#include "desk.hpp"

namespace smg::test {
namespace {

struct One : Desk {
  One() { config.admission.max_concurrent_requests = 1; }
};

TEST_CASE_FIXTURE(One, "a ticket that never entered can be let go of") {
  client().leave();
  CHECK(client().ticket->begin_data());
  CHECK(client().expire() == "");
}

TEST_CASE_FIXTURE(One, "an abandoned ticket waits for the task that is on its way") {
  Client& one = running();
  waiting();
  one.leave();
  CHECK(loop.posted() == 1);
  clients.pop_back();  // its grant is under way; run() would touch it if it were gone
  loop.run();
  running();
}

TEST_CASE_FIXTURE(One, "an abandoned waiter takes up no place") {
  config.admission.queue_size = 1;
  Client& one = running();
  waiting();
  clients.pop_back();
  Client& two = waiting();
  one.leave();
  loop.run();
  CHECK(two.admissions == 1);
}

TEST_CASE_FIXTURE(One, "an abandoned ticket gives back its token") {
  running();
  clients.pop_back();
  running();
}

TEST_CASE_FIXTURE(One, "a late task of the request before is nothing to the next one") {
  Client& one = running();
  Client& two = waiting();
  one.leave();
  two.leave();
  SUBCASE("which runs") {
    CHECK(two.enter() == Answer::admitted);
    loop.run();
    CHECK(two.admissions == 0);
  }
  SUBCASE("which waits") {
    CHECK(one.enter() == Answer::admitted);
    CHECK(two.enter() == Answer::waiting);
    loop.run();
    CHECK(two.admissions == 0);
    one.leave();
    loop.run();
    CHECK(two.admissions == 1);
  }
  SUBCASE("which has been granted meanwhile, and is told by it") {
    CHECK(one.enter() == Answer::admitted);
    CHECK(two.enter() == Answer::waiting);
    one.leave();
    CHECK(loop.posted() == 1);
    loop.run();
    CHECK(two.admissions == 1);
  }
}

TEST_CASE_FIXTURE(One, "with the limiter a request that runs cannot be stopped") {
  CHECK(running("bulk").ticket->begin_data());
  waiting("system");
  loop.run();
  CHECK(clients[0]->preemptions == 0);
}

}  // namespace
}  // namespace smg::test
