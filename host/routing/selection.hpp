// One choice among a pool's workers, with the rules that no policy has to know.
//
// The policy is asked first, unless it is fenced, and what it does wrong is counted. It decides
// among eligible workers only; when there is none, what happens depends on why: workers that are
// merely vetoed are still workers, so the request is steered to the least loaded of them, or shed
// where that is asked for.
#pragma once

#include <cstdint>

#include "host/fleet/snapshot.hpp"
#include "smg/cpp/least.hpp"
#include "smg/policy.h"

namespace smg {

// What was wrong with a policy's answer.
enum class SelectionFault : std::uint8_t { none, bad_index, ineligible, failed, bad_status, threw };

enum class Verdict : std::uint8_t {
  chosen,            // by the policy, or the least loaded after a fault of it
  steered_overload,  // nobody is eligible: an overloaded worker
  steered_liveness,  // ... or one that liveness doubts
  shed,              // all are overloaded, and shedding is on
  declined,          // the policy wants none of the eligible ones
  unavailable,       // nobody can be chosen
};

struct Selection {
  static constexpr std::uint32_t kNone = 0xffffffffu;

  std::uint32_t index = kNone;
  Verdict verdict = Verdict::unavailable;
  SelectionFault fault = SelectionFault::none;
};

// `shed`: refuse instead of steering to an overloaded worker. Never allocates.
Selection select_worker(const Pool& pool, const smg_policy_request& request, bool shed);

// The pool has members, and each is vetoed, by load or by liveness.
bool all_vetoed(const smg_pool& pool);

// What is left when no member is eligible.
Selection without_eligible(const smg_pool& pool, bool shed, std::uint64_t random);

// Uniform among the members whose state `fits` and that have the least `cost(index)`; kNone if
// there are none. `random`: 64 random bits.
template <class Fits, class Cost>
std::uint32_t least_of(const smg_pool& pool, std::uint64_t random, Fits fits, Cost cost) {
  Least<std::uint32_t> least(random);
  for (std::uint32_t i = 0; i < pool.count; ++i) {
    if (fits(smg_worker_state(pool.live[i]))) least.offer(i, cost(i));
  }
  return least.any() ? least.index() : Selection::kNone;
}

template <class Cost>
std::uint32_t least_eligible(const smg_pool& pool, std::uint64_t random, Cost cost) {
  return least_of(
      pool, random, [](std::uint32_t state) { return smg_state_eligible(state) != 0; }, cost);
}

// By requests in flight.
std::uint32_t least_loaded_eligible(const smg_pool& pool, std::uint64_t random);

}  // namespace smg
