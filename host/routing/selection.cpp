#include "host/routing/selection.hpp"

#include <time.h>

#include <string_view>

namespace smg {
namespace {

constexpr std::uint32_t kDoubted = SMG_STATE_UNREACHABLE | SMG_STATE_WEDGED;

template <class Fits>
std::uint32_t least_loaded(const smg_pool& pool, std::uint64_t random, Fits fits) {
  return least_of(pool, random, fits,
                  [&](std::uint32_t i) { return smg_worker_in_flight(pool.live[i]); });
}

template <class Has>
bool all_of(const smg_pool& pool, Has has) {
  for (std::uint32_t i = 0; i < pool.count; ++i) {
    if (!has(smg_worker_state(pool.live[i]))) return false;
  }
  return pool.count > 0;
}

// Routable but for a veto.
bool is_ready(std::uint32_t state) {
  return (state & SMG_STATE_STATUS_MASK) == SMG_STATUS_READY &&
         (state & SMG_STATE_BREAKER_OPEN) == 0;
}

// What the policy may take. It grows with the text, which it may have to read.
std::uint64_t select_budget(const smg_policy_request& request) {
  return 250'000'000 + 20 * (request.text.size + request.token_count * sizeof(std::uint32_t));
}

// Some milliseconds coarse, which is fine enough for such a budget, and a quarter of the price.
std::uint64_t coarse_clock() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// True if the worker was out of routing before the policy was asked. A veto that lands while it
// thinks, or is just being written, is nobody's fault: then the epoch is odd or has moved by the
// time the new word is seen.
bool is_stale(const smg_pool& pool, std::uint32_t index, std::uint64_t epoch) {
  const std::uint32_t state = __atomic_load_n(&pool.live[index]->state, __ATOMIC_ACQUIRE);
  return smg_state_eligible(state) == 0 && epoch % 2 == 0 && smg_pool_epoch(&pool) == epoch;
}

constexpr std::string_view kFaultTexts[] = {
    "", "select answered an index that is not in the pool",
    "select answered a worker that is not eligible",
    "select failed: it answered SMG_E_INTERNAL, which is what the C++ wrapper makes of an "
    "exception; the words are in the log",
    "select answered a status that is neither SMG_OK nor SMG_NO_CHOICE"};

SelectionFault fault_of(const smg_pool& pool, smg_status status, std::uint32_t index,
                        std::uint64_t epoch) {
  if (status == SMG_NO_CHOICE) return SelectionFault::none;
  if (status == SMG_E_INTERNAL) return SelectionFault::failed;
  if (status != SMG_OK) return SelectionFault::bad_status;
  if (index >= pool.count) return SelectionFault::bad_index;
  return is_stale(pool, index, epoch) ? SelectionFault::ineligible : SelectionFault::none;
}

}  // namespace

std::uint32_t least_loaded_eligible(const smg_pool& pool, std::uint64_t random) {
  return least_loaded(pool, random,
                      [](std::uint32_t state) { return smg_state_eligible(state) != 0; });
}

bool all_vetoed(const smg_pool& pool) {
  return all_of(
      pool, [](std::uint32_t state) { return (state & (SMG_STATE_OVERLOADED | kDoubted)) != 0; });
}

Selection without_eligible(const smg_pool& pool, bool shed, std::uint64_t random) {
  Selection result;
  const bool all_overloaded =
      all_of(pool, [](std::uint32_t state) { return (state & SMG_STATE_OVERLOADED) != 0; });
  if (shed && all_overloaded) {
    result.verdict = Verdict::shed;
    return result;
  }
  if (!all_vetoed(pool)) return result;
  if (!shed) {
    result.index = least_loaded(pool, random, [](std::uint32_t state) {
      return is_ready(state) && (state & kDoubted) == 0;
    });
    if (result.index != Selection::kNone) {
      result.verdict = Verdict::steered_overload;
      return result;
    }
  }
  result.index = least_loaded(pool, random, [&](std::uint32_t state) {
    return is_ready(state) && !(shed && (state & SMG_STATE_OVERLOADED) != 0);
  });
  if (result.index != Selection::kNone) result.verdict = Verdict::steered_liveness;
  return result;
}

Selection select_worker(const Pool& pool, const smg_policy_request& request, bool shed) {
  Selection result;
  const PolicyRef& policy = *pool.policy;
  std::uint32_t index = Selection::kNone;
  smg_status status = SMG_OK;
  const bool fenced = policy.fenced();
  if (!fenced) {
    const std::uint64_t epoch = smg_pool_epoch(&pool.view);
    const std::uint64_t begun = coarse_clock();
    const bool answered = guarded(policy.faults, "select", [&] {
      status = policy.api->select(policy.self, &request, &pool.view, &index);
    });
    if (coarse_clock() - begun > select_budget(request)) {
      policy.fault(Fault::slow_select, "select took longer than 250 ms and 20 ns a byte of text");
    }
    if (answered && status == SMG_OK && index < pool.view.count &&
        smg_pool_eligible(&pool.view, index) != 0) {
      result.index = index;
      result.verdict = Verdict::chosen;
      return result;
    }
    result.fault = answered ? fault_of(pool.view, status, index, epoch) : SelectionFault::threw;
    if (answered && result.fault != SelectionFault::none) {
      const bool threw = result.fault == SelectionFault::failed;
      policy.fault(threw ? Fault::exception : Fault::selection,
                   kFaultTexts[static_cast<std::size_t>(result.fault)]);
    }
  }
  const std::uint32_t fallback = least_loaded_eligible(pool.view, request.random);
  if (fallback == Selection::kNone) {
    const SelectionFault fault = result.fault;
    result = without_eligible(pool.view, shed, request.random);
    result.fault = fault;
  } else if (result.fault == SelectionFault::none && status == SMG_NO_CHOICE) {
    result.verdict = Verdict::declined;
  } else {
    result.index = fallback;
    result.verdict = Verdict::chosen;
  }
  return result;
}

}  // namespace smg
