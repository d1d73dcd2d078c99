// From a pool to one worker: ask the policy, check its answer.
//
// On a loop thread; allocates nothing, takes no lock. A policy that answers an index out of range
// or an ineligible worker, or that fails, is counted as faulty, and the least loaded eligible
// worker is taken instead.
#pragma once

#include <cstdint>

#include "host/fleet/snapshot.hpp"
#include "smg/policy.h"

namespace smg {

enum class SelectionFault : std::uint8_t { none, bad_index, ineligible, failed };

struct Selection {
  static constexpr std::uint32_t kNone = 0xffffffffu;
  std::uint32_t index = kNone;  // into pool.members
  bool declined = false;        // the policy found none although some worker is eligible
  SelectionFault fault = SelectionFault::none;
};

Selection select_worker(const Pool& pool, const smg_policy_request& request);

// The eligible worker with the fewest requests in flight, ties broken by `random`; kNone without
// one.
std::uint32_t least_loaded_eligible(const smg_pool& pool, std::uint64_t random);

}  // namespace smg
