#include "host/routing/selection.hpp"

#include <doctest/doctest.h>

#include <map>

#include "host/routing/random.hpp"

using namespace smg;

namespace {

// A pool of workers that exist as state words only, and a policy that answers what the test wants.
struct Bench {
  explicit Bench(std::uint32_t count) : live(count) {
    for (auto& block : live) {
      block.state = SMG_STATUS_READY;
      pool.live.push_back(&block);
    }
    api.struct_size = sizeof api;
    api.select = [](void* self, const smg_policy_request*, const smg_pool*, std::uint32_t* index) {
      auto* bench = static_cast<Bench*>(self);
      if (bench->epoch_moves) ++bench->epoch;
      *index = bench->answer;
      return bench->status;
    };
    policy.api = &api;
    policy.self = this;
    pool.policy = {std::shared_ptr<void>(), &policy};
    pool.view.struct_size = sizeof pool.view;
    pool.view.count = count;
    pool.view.live = pool.live.data();
    pool.view.epoch = &epoch;
    request.struct_size = sizeof request;
  }
  Selection select(bool shed = false) { return select_worker(pool, request, shed); }

  std::vector<smg_worker_live> live;
  std::uint64_t epoch = 2;
  smg_policy_api api{};
  PolicyRef policy;
  Pool pool;
  smg_policy_request request{};
  std::uint32_t answer = 0;
  smg_status status = SMG_OK;
  bool epoch_moves = false;
};

}  // namespace

TEST_CASE("an eligible choice stands") {
  Bench bench(3);
  bench.answer = 2;
  CHECK(bench.select().index == 2);
  CHECK(bench.select().fault == SelectionFault::none);
}

TEST_CASE("an index out of range is a fault, the least loaded eligible worker is taken") {
  Bench bench(3);
  bench.answer = 3;
  bench.live[0].in_flight = 5;
  bench.live[1].in_flight = 1;
  bench.live[2].state = SMG_STATUS_DRAINING;
  const Selection selection = bench.select();
  CHECK(selection.fault == SelectionFault::bad_index);
  CHECK(selection.index == 1);
}

TEST_CASE("no policy routes around a veto") {
  for (const std::uint32_t veto :
       {SMG_STATE_BREAKER_OPEN, SMG_STATE_OVERLOADED, SMG_STATE_UNREACHABLE, SMG_STATE_WEDGED}) {
    Bench bench(2);
    bench.live[0].state = SMG_STATUS_READY | veto;
    const Selection selection = bench.select();
    CHECK(selection.index == 1);
    CHECK(selection.fault == SelectionFault::ineligible);
  }
}

TEST_CASE("a half-open breaker is eligible") {
  Bench bench(1);
  bench.live[0].state = SMG_STATUS_READY | SMG_STATE_BREAKER_HALF_OPEN;
  CHECK(bench.select().index == 0);
}

TEST_CASE("a veto that lands while the policy thinks is not its fault") {
  Bench bench(2);
  bench.live[0].state = SMG_STATUS_READY | SMG_STATE_OVERLOADED;
  bench.epoch_moves = true;
  const Selection selection = bench.select();
  CHECK(selection.fault == SelectionFault::none);
  CHECK(selection.index == 1);
}

TEST_CASE("a veto that is just being written is nobody's fault") {
  Bench bench(2);
  bench.live[0].state = SMG_STATUS_READY | SMG_STATE_OVERLOADED;
  bench.epoch = 3;
  const Selection selection = bench.select();
  CHECK(selection.fault == SelectionFault::none);
  CHECK(selection.index == 1);
}

TEST_CASE("a policy that fails is faulty, one that declines is not") {
  Bench bench(2);
  bench.status = SMG_E_INTERNAL;
  CHECK(bench.select().fault == SelectionFault::failed);
  CHECK(bench.select().index != Selection::kNone);
  bench.status = SMG_NO_CHOICE;
  CHECK(bench.select().index == Selection::kNone);
  CHECK(bench.select().verdict == Verdict::declined);
  bench.live[0].state = bench.live[1].state = SMG_STATUS_NOT_READY;
  CHECK(bench.select().verdict == Verdict::unavailable);
}

TEST_CASE("ties on the least load are broken uniformly") {
  Bench bench(8);
  bench.live[3].in_flight = 1;
  Random random(42);
  std::map<std::uint32_t, int> counts;
  for (int i = 0; i < 7000; ++i) ++counts[least_loaded_eligible(bench.pool.view, random.next())];
  CHECK(counts.count(3) == 0);
  CHECK(counts.size() == 7);
  for (const auto& [index, count] : counts) {
    CHECK(count > 800);
    CHECK(count < 1200);
  }
}
