#include "expected_wait.hpp"

#include <limits>

namespace smg {
namespace {

template <class T>
T load(const T& place) {
  T value;
  __atomic_load(&place, &value, __ATOMIC_RELAXED);
  return value;
}

}  // namespace

ExpectedWait::Figures ExpectedWait::figures_of(const smg_worker_live& live) const {
  Figures figures{};
  figures.reported = __atomic_load_n(&live.report_valid, __ATOMIC_ACQUIRE) != 0;
  if (!figures.reported) return figures;
  figures.sequence = load(live.report_sequence);
  figures.waiting_requests = load(live.waiting_requests);
  const int64_t uncached = load(live.waiting_uncached_tokens);
  figures.queued_tokens =
      uncached > 0 ? static_cast<double>(uncached)
                   : static_cast<double>(std::max<int64_t>(figures.waiting_requests, 0)) *
                         tunables_.mean_prefill_tokens;
  figures.throughput = load(live.throughput);
  figures.usage = load(live.token_usage);
  return figures;
}

ExpectedWait::Credit& ExpectedWait::credit_of(const smg_worker& worker, uint64_t sequence) {
  if (credits_.size() <= worker.slot) credits_.resize(worker.slot + 1);
  Credit& credit = credits_[worker.slot];
  if (credit.ref != worker.ref || credit.sequence != sequence) {
    credit = {.ref = worker.ref, .sequence = sequence};
  }
  return credit;
}

std::optional<uint32_t> ExpectedWait::choose(const Request& request, const Pool& pool,
                                             std::span<const uint32_t> candidates) {
  const bool capped = tunables_.max_waiting_requests > 0;
  if (candidates.size() == 1 && !capped) return candidates.front();
  const std::lock_guard lock(mutex_);
  figures_.clear();
  candidates_.clear();
  double nominal = 0;
  unsigned with_throughput = 0;
  bool any_report = false;
  for (const uint32_t index : candidates) {
    const Figures figures = figures_of(pool.live(index));
    if (capped && figures.reported) {
      const Credit& credit = credit_of(pool.worker(index), figures.sequence);
      if (figures.waiting_requests + credit.requests >= tunables_.max_waiting_requests) continue;
    }
    any_report = any_report || figures.reported;
    if (figures.reported && figures.throughput > 0) {
      nominal += figures.throughput;
      ++with_throughput;
    }
    figures_.push_back(figures);
    candidates_.push_back(index);
  }
  if (candidates_.empty()) return std::nullopt;
  nominal = with_throughput > 0 ? nominal / with_throughput : tunables_.default_throughput;

  const auto own_score = [&](std::size_t i) {
    const Figures& figures = figures_[i];
    const Credit& credit = credit_of(pool.worker(candidates_[i]), figures.sequence);
    const double throughput =
        figures.throughput > 0 ? figures.throughput : tunables_.default_throughput;
    // A NaN is no usage at all, as for the overload verdict.
    const double k = figures.usage > 0 ? std::min(figures.usage, 0.999) : 0.0;
    return (figures.queued_tokens + credit.tokens) / throughput +
           tunables_.kv_pressure_weight * k / (1 - k);
  };
  double base = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (figures_[i].reported) base = std::min(base, own_score(i));
  }
  std::size_t best = 0;
  double best_score = 0;
  uint64_t ties = 0;
  uint64_t random = request.random();
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const auto in_flight = static_cast<double>(pool.in_flight(candidates_[i]));
    double score = in_flight;
    if (figures_[i].reported) {
      score = own_score(i);
    } else if (any_report) {
      score = base + in_flight * tunables_.mean_prefill_tokens / nominal;
    }
    if (ties == 0 || score < best_score) {
      best = i;
      best_score = score;
      ties = 1;
    } else if (score == best_score) {
      // Reservoir: the j-th tied one replaces the choice with probability 1/j.
      random = random * 6364136223846793005u + 1442695040888963407u;
      if ((random >> 33) % ++ties == 0) best = i;
    }
  }
  Credit& credit = credit_of(pool.worker(candidates_[best]), figures_[best].sequence);
  credit.tokens += request.tokens().empty() ? tunables_.mean_prefill_tokens
                                            : static_cast<double>(request.tokens().size());
  ++credit.requests;
  return candidates_[best];
}

}  // namespace smg
