// One choice among a pool's workers, with the rules that no policy has to know.
//
// The policy is asked first. It decides among eligible workers only; when there is none, what
// happens depends on why: workers that are merely vetoed are still workers, so the request is
// steered to the least loaded of them, or shed where that is asked for.
#pragma once

#include <cstdint>

#include "host/fleet/snapshot.hpp"
#include "smg/policy.h"

namespace smg {

// What was wrong with a policy's answer.
enum class SelectionFault : std::uint8_t { none, bad_index, ineligible, failed };

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

// Uniform among the eligible members with the fewest requests in flight; kNone if nobody is
// eligible.
std::uint32_t least_loaded_eligible(const smg_pool& pool, std::uint64_t random);

}  // namespace smg
