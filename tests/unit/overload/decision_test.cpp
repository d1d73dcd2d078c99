// Section 6 of the overload page: what happens when no worker is eligible, over the shipped
// policies.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "host/routing/random.hpp"
#include "host/routing/selection.hpp"

using namespace smg;

namespace {

constexpr std::uint32_t kReady = SMG_STATUS_READY;

// One letter a member: E eligible, O overloaded, L doubted by liveness, B both, X not routable for
// another reason; o and l: vetoed and not Ready either.
std::uint32_t state_of(char kind) {
  switch (kind) {
    case 'E':
      return kReady;
    case 'O':
      return kReady | SMG_STATE_OVERLOADED;
    case 'L':
      return kReady | SMG_STATE_WEDGED;
    case 'B':
      return kReady | SMG_STATE_OVERLOADED | SMG_STATE_UNREACHABLE;
    case 'o':
      return kReady | SMG_STATE_BREAKER_OPEN | SMG_STATE_OVERLOADED;
    case 'l':
      return kReady | SMG_STATE_BREAKER_OPEN | SMG_STATE_UNREACHABLE;
    default:
      return SMG_STATUS_NOT_READY;
  }
}

// The policy: the first eligible member, or none.
smg_status first_eligible(void*, const smg_policy_request*, const smg_pool* pool,
                          std::uint32_t* index) {
  for (std::uint32_t i = 0; i < pool->count; ++i) {
    if (smg_pool_eligible(pool, i) == 0) continue;
    *index = i;
    return SMG_OK;
  }
  return SMG_NO_CHOICE;
}

struct Fleet {
  explicit Fleet(const std::string& kinds) : kinds_(kinds), live(kinds.size()) {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      live[i].state = state_of(kinds[i]);
      pool.live.push_back(&live[i]);
    }
    api.struct_size = sizeof api;
    api.select = first_eligible;
    policy.api = &api;
    pool.policy = {std::shared_ptr<void>(), &policy};
    pool.view.struct_size = sizeof pool.view;
    pool.view.count = static_cast<std::uint32_t>(kinds.size());
    pool.view.live = pool.live.data();
    pool.view.epoch = &epoch;
  }
  // The kind of the chosen member and the counter that moves, or what is answered.
  std::string decide(bool shed) {
    request.random = random.next();
    const Selection selection = select_worker(pool, request, shed);
    const std::string kind =
        selection.index == Selection::kNone ? "" : std::string(1, kinds_[selection.index]);
    switch (selection.verdict) {
      case Verdict::chosen:
        return "policy " + kind;
      case Verdict::steered_overload:
        return "overload " + kind;
      case Verdict::steered_liveness:
        return "liveness " + kind;
      case Verdict::shed:
        return "shed";
      case Verdict::declined:
        return "declined";
      case Verdict::unavailable:
        break;
    }
    return "503";
  }

  std::string kinds_;
  std::vector<smg_worker_live> live;
  std::uint64_t epoch = 2;
  smg_policy_api api{};
  PolicyRef policy;
  Pool pool;
  smg_policy_request request{};
  Random random{7};
};

}  // namespace

TEST_CASE("overload 6.4: the decision table") {
  struct Row {
    const char* pool;
    const char* steering;
    const char* shedding;
  };
  for (const Row& row : {
           Row{"EOLBX", "policy E", "policy E"},
           Row{"O", "overload O", "shed"},
           Row{"OOO", "overload O", "shed"},
           Row{"OB", "overload O", "shed"},
           Row{"BO", "overload O", "shed"},
           Row{"B", "liveness B", "shed"},
           Row{"BB", "liveness B", "shed"},
           Row{"L", "liveness L", "liveness L"},
           Row{"LLL", "liveness L", "liveness L"},
           Row{"OL", "overload O", "liveness L"},
           Row{"LO", "overload O", "liveness L"},
           Row{"LB", nullptr, "liveness L"},
           Row{"OX", "503", "503"},
           Row{"LX", "503", "503"},
           Row{"X", "503", "503"},
           Row{"XXX", "503", "503"},
           Row{"o", "503", "shed"},
           Row{"oo", "503", "shed"},
           Row{"l", "503", "503"},
           Row{"lo", "503", "503"},
           Row{"", "503", "503"},
       }) {
    CAPTURE(row.pool);
    if (row.steering != nullptr) CHECK(Fleet(row.pool).decide(false) == row.steering);
    CHECK(Fleet(row.pool).decide(true) == row.shedding);
  }
}

TEST_CASE("overload 6.4: L + B without shedding, the least loaded of both") {
  Fleet fleet("LB");
  fleet.live[0].in_flight = 5;
  CHECK(fleet.decide(false) == "liveness B");
  fleet.live[1].in_flight = 6;
  CHECK(fleet.decide(false) == "liveness L");
}

TEST_CASE("overload 6.3.3: steering takes the least loaded, and not one whose breaker is open") {
  Fleet fleet("OOoO");
  fleet.live[0].in_flight = 4;
  fleet.live[1].in_flight = 2;
  fleet.live[3].in_flight = 3;
  for (int i = 0; i < 50; ++i) {
    const Selection selection = select_worker(fleet.pool, fleet.request, false);
    CHECK(selection.index == 1);
  }
}

TEST_CASE("overload 6.3.4: ties are broken uniformly, one lighter worker always wins") {
  Fleet fleet(std::string(128, 'O'));
  std::map<std::uint32_t, int> counts;
  for (int i = 0; i < 1000; ++i) {
    fleet.request.random = fleet.random.next();
    ++counts[select_worker(fleet.pool, fleet.request, false).index];
  }
  CHECK(counts.size() == 128);
  for (const auto& [index, count] : counts) CHECK(count <= 24);
  for (auto& live : fleet.live) live.in_flight = 1;
  fleet.live[77].in_flight = 0;
  for (int i = 0; i < 100; ++i) {
    fleet.request.random = fleet.random.next();
    CHECK(select_worker(fleet.pool, fleet.request, false).index == 77);
  }
}

TEST_CASE("overload 6.3.5: all vetoed is one question, asked in one place") {
  CHECK(all_vetoed(Fleet("OLB").pool.view));
  CHECK_FALSE(all_vetoed(Fleet("OLX").pool.view));
  CHECK_FALSE(all_vetoed(Fleet("").pool.view));
}
