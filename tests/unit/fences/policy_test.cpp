#include <doctest/doctest.h>

#include <functional>
#include <stdexcept>

#include "fixture.hpp"
#include "host/loop/loop.hpp"
#include "host/routing/selection.hpp"

using namespace smg;

namespace {

// Two eligible workers, the second with less load, and a policy that does what the test says.
struct Bench : test::Fixture {
  Bench() : faults_of(services, "policy.unruly") {
    for (auto& block : live) {
      block.state = SMG_STATUS_READY;
      pool.live.push_back(&block);
    }
    live[0].in_flight = 5;
    api.struct_size = sizeof api;
    api.select = [](void* self, const smg_policy_request*, const smg_pool*, std::uint32_t* index) {
      auto& bench = *static_cast<Bench*>(self);
      ++bench.asked;
      return bench.select(*index);
    };
    api.pool_changed = [](void* self, const smg_pool*, const smg_pool*) {
      static_cast<Bench*>(self)->told();
    };
    api.dispatched = [](void* self, const smg_policy_request*, const smg_worker*) {
      static_cast<Bench*>(self)->told();
    };
    api.completed = [](void* self, const smg_worker*, std::uint32_t) {
      static_cast<Bench*>(self)->told();
    };
    policy.api = &api;
    policy.self = this;
    policy.faults = &faults_of;
    pool.policy = {std::shared_ptr<void>(), &policy};
    pool.view.struct_size = sizeof pool.view;
    pool.view.count = 2;
    pool.view.live = pool.live.data();
    pool.view.epoch = &epoch;
    request.struct_size = sizeof request;
  }
  Selection choose() { return select_worker(pool, request, false); }

  FaultMeter faults_of;
  std::array<smg_worker_live, 2> live{};
  std::uint64_t epoch = 2;
  smg_policy_api api{};
  PolicyRef policy;
  Pool pool;
  smg_policy_request request{};
  int asked = 0;
  std::function<smg_status(std::uint32_t&)> select;
  std::function<void()> told;
};

}  // namespace

TEST_CASE_FIXTURE(Bench, "a policy that throws costs the request nothing") {
  select = [](std::uint32_t& index) -> smg_status {
    index = 0;
    throw std::runtime_error("no idea");
  };
  const Selection selection = choose();
  CHECK(selection.verdict == Verdict::chosen);
  CHECK(selection.index == 1);
  CHECK(selection.fault == SelectionFault::threw);
  CHECK(faults("unruly", Fault::exception) == 1);
  CHECK(faults("unruly", Fault::selection) == 0);
}

TEST_CASE_FIXTURE(Bench, "a wrong index, a status that is none, an ineligible worker are counted") {
  select = [](std::uint32_t& index) {
    index = 0xffffffffu;
    return SMG_OK;
  };
  CHECK(choose().index == 1);
  select = [](std::uint32_t&) { return smg_status{4711}; };
  CHECK(choose().index == 1);
  live[0].state = SMG_STATUS_NOT_READY;
  select = [](std::uint32_t& index) {
    index = 0;
    return SMG_OK;
  };
  CHECK(choose().index == 1);
  CHECK(faults("unruly", Fault::selection) == 3);
  select = [](std::uint32_t&) { return SMG_NO_CHOICE; };
  CHECK(choose().verdict == Verdict::declined);
  CHECK(faults_of.total() == 3);
}

TEST_CASE_FIXTURE(Bench, "a choice that took too long is taken, and counted") {
  select = [](std::uint32_t& index) {
    const std::uint64_t end = Loop::clock() + 260'000'000;
    while (Loop::clock() < end) {
    }
    index = 0;
    return SMG_OK;
  };
  CHECK(choose().index == 0);
  CHECK(faults("unruly", Fault::slow_select) == 1);
  // Ten milliseconds more for every half a megabyte of text.
  const std::string long_text(5'000'000, 'x');
  request.text = view(long_text);
  CHECK(choose().index == 0);
  CHECK(faults("unruly", Fault::slow_select) == 1);
}

TEST_CASE_FIXTURE(Bench, "a fenced policy is asked nothing and told nothing any more") {
  select = [](std::uint32_t& index) {
    index = 2;
    return SMG_OK;
  };
  int heard = 0;
  told = [&] { ++heard; };
  const smg_worker worker{};
  for (int i = 0; i < 100; ++i) CHECK(choose().index == 1);
  CHECK(asked == 10);
  CHECK(faults_of.fenced());
  policy.pool_changed(nullptr, &pool.view);
  policy.dispatched(request, worker);
  policy.completed(worker, true);
  CHECK(heard == 0);
  // Its default still knows every veto.
  live[0].state = live[1].state = SMG_STATUS_READY | SMG_STATE_OVERLOADED;
  CHECK(choose().verdict == Verdict::steered_overload);
  live[0].state = live[1].state = SMG_STATUS_NOT_READY;
  CHECK(choose().verdict == Verdict::unavailable);
  CHECK(asked == 10);
}

TEST_CASE_FIXTURE(Bench, "what a policy throws when it is told something ends there") {
  told = [] { throw 1; };
  const smg_worker worker{};
  policy.pool_changed(nullptr, &pool.view);
  policy.dispatched(request, worker);
  policy.completed(worker, false);
  CHECK(faults("unruly", Fault::exception) == 3);
}
