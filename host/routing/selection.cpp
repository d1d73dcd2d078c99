#include "host/routing/selection.hpp"

namespace smg {

std::uint32_t least_loaded_eligible(const smg_pool& pool, std::uint64_t random) {
  std::uint32_t best = Selection::kNone;
  std::uint32_t best_load = 0;
  std::uint64_t ties = 0;
  for (std::uint32_t i = 0; i < pool.count; ++i) {
    if (smg_pool_eligible(&pool, i) == 0) continue;
    const std::uint32_t load = smg_worker_in_flight(pool.live[i]);
    if (best == Selection::kNone || load < best_load) {
      best = i;
      best_load = load;
      ties = 1;
    } else if (load == best_load) {
      // Reservoir: the k-th tied one replaces the choice with probability 1/k.
      random = random * 6364136223846793005u + 1442695040888963407u;
      if ((random >> 33) % ++ties == 0) best = i;
    }
  }
  return best;
}

namespace {

// True if the worker was out of routing before the policy was asked. A veto that lands while it
// thinks, or is just being written, is nobody's fault: then the epoch is odd or has moved by the
// time the new word is seen.
bool is_stale(const smg_pool& pool, std::uint32_t index, std::uint64_t epoch) {
  const std::uint32_t state = __atomic_load_n(&pool.live[index]->state, __ATOMIC_ACQUIRE);
  return smg_state_eligible(state) == 0 && epoch % 2 == 0 && smg_pool_epoch(&pool) == epoch;
}

}  // namespace

Selection select_worker(const Pool& pool, const smg_policy_request& request) {
  Selection result;
  const std::uint64_t epoch = smg_pool_epoch(&pool.view);
  std::uint32_t index = Selection::kNone;
  const smg_status status =
      pool.policy->api->select(pool.policy->self, &request, &pool.view, &index);
  if (status == SMG_OK) {
    if (index < pool.view.count && smg_pool_eligible(&pool.view, index) != 0) {
      result.index = index;
      return result;
    }
    if (index >= pool.view.count) {
      result.fault = SelectionFault::bad_index;
    } else if (is_stale(pool.view, index, epoch)) {
      result.fault = SelectionFault::ineligible;
    }
  } else if (status != SMG_NO_CHOICE) {
    result.fault = SelectionFault::failed;
  }
  const std::uint32_t fallback = least_loaded_eligible(pool.view, request.random);
  if (status == SMG_NO_CHOICE) {
    result.declined = fallback != Selection::kNone;
  } else {
    result.index = fallback;
  }
  return result;
}

}  // namespace smg
