// Section 6.4 of the overload page, row by row, over every policy that the plugin directory holds.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/base/views.hpp"
#include "host/routing/random.hpp"
#include "host/routing/selection.hpp"
#include "shipped_policies.hpp"
#include "smg/transport.h"

using namespace smg;
using smg::test::ShippedPolicies;

namespace {

constexpr std::uint32_t kReady = SMG_STATUS_READY;

// The states of a kind of member; capitals as in the specification, small letters for vetoed
// members that are not Ready or whose breaker is open.
const std::vector<std::uint32_t>& states_of(char kind) {
  static const std::map<char, std::vector<std::uint32_t>> kStates = {
      {'E', {kReady, kReady | SMG_STATE_BREAKER_HALF_OPEN}},
      {'O', {kReady | SMG_STATE_OVERLOADED}},
      {'L', {kReady | SMG_STATE_UNREACHABLE, kReady | SMG_STATE_WEDGED}},
      {'B', {kReady | SMG_STATE_OVERLOADED | SMG_STATE_WEDGED}},
      {'X',
       {SMG_STATUS_NOT_READY, kReady | SMG_STATE_BREAKER_OPEN, SMG_STATUS_FAILED,
        SMG_STATUS_DRAINING}},
      {'o',
       {kReady | SMG_STATE_BREAKER_OPEN | SMG_STATE_OVERLOADED,
        SMG_STATUS_NOT_READY | SMG_STATE_OVERLOADED}},
      {'l',
       {kReady | SMG_STATE_BREAKER_OPEN | SMG_STATE_UNREACHABLE,
        SMG_STATUS_NOT_READY | SMG_STATE_WEDGED}},
  };
  return kStates.at(kind);
}

// What a row says: the verdict, and of which kinds the chosen member may be.
struct Says {
  Verdict verdict;
  std::string_view kinds;
};

constexpr Says kPolicy{Verdict::chosen, "E"};
constexpr Says kShed{Verdict::shed, ""};
constexpr Says kUnavailable{Verdict::unavailable, ""};

Says overload(std::string_view kinds) {
  return {Verdict::steered_overload, kinds};
}
Says liveness(std::string_view kinds) {
  return {Verdict::steered_liveness, kinds};
}

struct Row {
  std::string name;
  // Whether a pool with these kinds of members, each once and sorted, belongs to the row.
  std::function<bool(const std::string& kinds)> holds;
  Says shed_off, shed_on;
};

bool only(const std::string& kinds, std::string_view of) {
  return kinds.find_first_not_of(of) == std::string::npos;
}
bool has(std::string_view kinds, char kind) {
  return kinds.find(kind) != std::string_view::npos;
}

const std::vector<Row>& table() {
  const auto exactly = [](std::string_view wanted) {
    return [wanted](const std::string& kinds) { return kinds == wanted; };
  };
  static const std::vector<Row> kTable = {
      {"any E", [](auto& kinds) { return has(kinds, 'E'); }, kPolicy, kPolicy},
      {"O...", exactly("O"), overload("O"), kShed},
      {"O + B", exactly("BO"), overload("O"), kShed},
      {"B...", exactly("B"), liveness("B"), kShed},
      {"L...", exactly("L"), liveness("L"), liveness("L")},
      {"O + L", exactly("LO"), overload("O"), liveness("L")},
      {"L + B", exactly("BL"), liveness("LB"), liveness("L")},
      {"O + X, L + X, X...", [](auto& kinds) { return has(kinds, 'X') && only(kinds, "OLX"); },
       kUnavailable, kUnavailable},
      {"vetoed members, none of them Ready with usable breaker: all overloaded", exactly("o"),
       kUnavailable, kShed},
      {"vetoed members, none of them Ready with usable breaker: else",
       [](auto& kinds) { return has(kinds, 'l') && only(kinds, "ol"); }, kUnavailable,
       kUnavailable},
      {"empty", exactly(""), kUnavailable, kUnavailable},
  };
  return kTable;
}

// A pool of such members, each with some requests in flight.
class Candidates {
 public:
  Candidates(std::string kinds, const PolicyRef& policy, Random& random)
      : kinds_(std::move(kinds)), live_(kinds_.size()), workers_(kinds_.size()) {
    static std::uint64_t generation = 0;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      const auto& states = states_of(kinds_[i]);
      live_[i].state = states[random.next() % states.size()];
      live_[i].in_flight = static_cast<std::uint32_t>(random.next() % 3);
      workers_[i].struct_size = sizeof workers_[i];
      workers_[i].ref = i + 1;
      workers_[i].slot = static_cast<std::uint32_t>(i);
      workers_[i].dp_size = 1;
      workers_[i].cost = 1;
      workers_[i].live = &live_[i];
      urls_.push_back("http://w" + std::to_string(i));
      pool_.live.push_back(&live_[i]);
      pool_.workers.push_back(&workers_[i]);
    }
    for (std::size_t i = 0; i < kinds_.size(); ++i) workers_[i].url = view(urls_[i]);
    pool_.policy = {std::shared_ptr<void>(), &policy};
    pool_.view = {sizeof pool_.view,
                  static_cast<std::uint32_t>(kinds_.size()),
                  pool_.workers.data(),
                  pool_.live.data(),
                  ++generation,
                  &epoch_,
                  view(std::string_view("m"))};
    tell(nullptr, &pool_.view);
  }
  ~Candidates() { tell(&pool_.view, nullptr); }
  Candidates(const Candidates&) = delete;
  Candidates& operator=(const Candidates&) = delete;

  Selection select(bool shed, Random& random) const {
    smg_policy_request request{};
    request.struct_size = sizeof request;
    request.endpoint = SMG_ENDPOINT_CHAT;
    request.random = random.next();
    request.model = pool_.view.model;
    request.text = view(std::string_view("Hello"));
    return select_worker(pool_, request, shed);
  }

  // Empty, or what is wrong about the choice.
  std::string judge(const Selection& selection, const Says& says) const {
    if (selection.verdict != says.verdict) {
      return "verdict " + std::to_string(static_cast<int>(selection.verdict)) + " instead of " +
             std::to_string(static_cast<int>(says.verdict));
    }
    if (selection.fault != SelectionFault::none) return "a fault of the policy";
    if (says.kinds.empty()) {
      return selection.index == Selection::kNone ? "" : "a worker is chosen";
    }
    if (selection.index >= kinds_.size()) return "no worker is chosen";
    if (!has(says.kinds, kinds_[selection.index])) {
      return std::string("chosen is ") + kinds_[selection.index];
    }
    if (says.verdict == Verdict::chosen) return "";
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      if (has(says.kinds, kinds_[i]) && live_[i].in_flight < live_[selection.index].in_flight) {
        return "not the least loaded";
      }
    }
    return "";
  }

 private:
  void tell(const smg_pool* before, const smg_pool* after) const {
    const PolicyRef& policy = *pool_.policy;
    if (policy.api->pool_changed != nullptr) policy.api->pool_changed(policy.self, before, after);
  }

  std::string kinds_;
  std::vector<smg_worker_live> live_;
  std::vector<smg_worker> workers_;
  std::vector<std::string> urls_;
  std::uint64_t epoch_ = 2;
  Pool pool_;
};

// Every sequence of kinds with up to four members.
std::vector<std::string> pools() {
  std::vector<std::string> all{""};
  for (std::size_t i = 0; i < all.size() && all[i].size() < 4; ++i) {
    for (const char kind : std::string_view("EOLBXol")) all.push_back(all[i] + kind);
  }
  return all;
}

std::string kinds_in(std::string pool) {
  std::sort(pool.begin(), pool.end());
  pool.erase(std::unique(pool.begin(), pool.end()), pool.end());
  return pool;
}

}  // namespace

TEST_CASE("overload 6.4: the decision table holds whatever the policy") {
  ShippedPolicies policies;
  const auto shipped = [&](std::string_view name) {
    return std::any_of(policies.all.begin(), policies.all.end(),
                       [&](const PolicyRef& policy) { return policy.name == name; });
  };
  REQUIRE(shipped("round_robin"));
  const std::vector<std::string> all = pools();
  for (const Row& row : table()) {
    CAPTURE(row.name);
    for (const PolicyRef& policy : policies.all) {
      CAPTURE(policy.name);
      std::size_t judged = 0;
      std::vector<std::string> wrong;
      policies.on_loop([&] {
        Random random(7);
        for (const std::string& kinds : all) {
          if (!row.holds(kinds_in(kinds))) continue;
          ++judged;
          const Candidates candidates(kinds, policy, random);
          for (const bool shed : {false, true}) {
            const std::string mistake = candidates.judge(candidates.select(shed, random),
                                                         shed ? row.shed_on : row.shed_off);
            if (mistake.empty()) continue;
            wrong.push_back(kinds + (shed ? ", shed on: " : ", shed off: ") + mistake);
          }
        }
      });
      CHECK(judged > 0);
      CHECK_MESSAGE(wrong.empty(),
                    wrong.size() << " pools, first: " << (wrong.empty() ? "" : wrong.front()));
    }
  }
}
