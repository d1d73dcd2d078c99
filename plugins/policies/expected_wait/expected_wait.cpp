#include "expected_wait.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "smg/cpp/least.hpp"

namespace smg {
namespace {

constexpr std::size_t kFew = 16;  // that fit on the stack

template <class T>
T load(const T& place) {
  T value;
  __atomic_load(&place, &value, __ATOMIC_RELAXED);
  return value;
}

}  // namespace

ExpectedWait::Figures ExpectedWait::figures_of(const smg_worker& worker) const {
  const smg_worker_live& live = *worker.live;
  Figures figures{};
  figures.ref = worker.ref;
  figures.slot = worker.slot;
  // Before the figures: credit for an older report may be charged to newer figures for one choice,
  // but figures that are out of date never go without their credit.
  figures.sequence = __atomic_load_n(&live.report_sequence, __ATOMIC_ACQUIRE);
  figures.reported = __atomic_load_n(&live.report_valid, __ATOMIC_ACQUIRE) != 0;
  if (!figures.reported) return figures;
  figures.waiting_requests = std::max<int64_t>(load(live.waiting_requests), 0);
  const int64_t uncached = load(live.waiting_uncached_tokens);
  figures.queued_tokens =
      uncached > 0 ? static_cast<double>(uncached)
                   : static_cast<double>(figures.waiting_requests) * tunables_.mean_prefill_tokens;
  const double throughput = load(live.throughput);
  figures.throughput = throughput > 0 && std::isfinite(throughput) ? throughput : 0;
  // A NaN is no usage at all, as for the overload verdict.
  const double usage = load(live.token_usage);
  const double k = usage > 0 ? std::min(usage, 0.999) : 0.0;
  figures.pressure = tunables_.kv_pressure_weight * k / (1 - k);
  return figures;
}

ExpectedWait::Credit& ExpectedWait::credit_of(const Figures& worker) {
  std::vector<Credit>& credits = stripe_of(worker).credits;
  const std::size_t place = worker.slot / stripes_.size();
  if (credits.size() <= place) credits.resize(place + 1);
  Credit& credit = credits[place];
  // Only a newer report clears: another thread may have read an older one.
  if (credit.ref != worker.ref || credit.sequence < worker.sequence) {
    credit = {.ref = worker.ref, .sequence = worker.sequence};
  }
  return credit;
}

std::optional<uint32_t> ExpectedWait::choose(const Request& request, const Pool& pool,
                                             std::span<const uint32_t> candidates) {
  if (candidates.empty()) return std::nullopt;
  if (candidates.size() == 1 && tunables_.max_waiting_requests <= 0) return candidates.front();
  Figures few[kFew];
  if (candidates.size() <= kFew) {
    return choose(request, pool, candidates, std::span(few).first(candidates.size()));
  }
  std::vector<Figures> room;
  {
    const std::lock_guard lock(rooms_mutex_);
    if (!rooms_.empty()) {
      room = std::move(rooms_.back());
      rooms_.pop_back();
    }
  }
  if (room.size() < candidates.size()) room.resize(candidates.size());
  const auto choice = choose(request, pool, candidates, std::span(room).first(candidates.size()));
  const std::lock_guard lock(rooms_mutex_);
  rooms_.push_back(std::move(room));
  return choice;
}

std::optional<uint32_t> ExpectedWait::choose(const Request& request, const Pool& pool,
                                             std::span<const uint32_t> candidates,
                                             std::span<Figures> figures) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    figures[i] = figures_of(pool.worker(candidates[i]));
  }
  Stripe& first = stripe_of(figures.front());
  Stripe& last = stripe_of(figures.back());
  if (&first == &last) {
    const std::lock_guard lock(first.mutex);
    return choose_locked(request, pool, candidates, figures);
  }
  const std::scoped_lock lock(first.mutex, last.mutex);
  return choose_locked(request, pool, candidates, figures);
}

std::optional<uint32_t> ExpectedWait::choose_locked(const Request& request, const Pool& pool,
                                                    std::span<const uint32_t> candidates,
                                                    std::span<const Figures> figures) {
  const int64_t cap = tunables_.max_waiting_requests;
  Least<double> reported(request.random());
  double throughputs = 0;
  unsigned with_throughput = 0;
  bool any_unreported = false;
  for (uint32_t i = 0; i < candidates.size(); ++i) {
    const Figures& own = figures[i];
    if (!own.reported) {
      any_unreported = true;
      continue;
    }
    const Credit& credit = credit_of(own);
    if (cap > 0 && own.waiting_requests + credit.requests >= cap) continue;
    if (own.throughput > 0) {
      throughputs += own.throughput;
      ++with_throughput;
    }
    const double throughput = own.throughput > 0 ? own.throughput : tunables_.default_throughput;
    reported.offer(i, (own.queued_tokens + credit.tokens) / throughput + own.pressure);
  }
  Least<double> best = reported;
  if (any_unreported) {
    const double nominal =
        with_throughput > 0 ? throughputs / with_throughput : tunables_.default_throughput;
    for (uint32_t i = 0; i < candidates.size(); ++i) {
      if (figures[i].reported) continue;
      const auto in_flight = static_cast<double>(pool.in_flight(candidates[i]));
      best.offer(i, reported.any()
                        ? reported.value() + in_flight * tunables_.mean_prefill_tokens / nominal
                        : in_flight);
    }
  }
  if (!best.any()) return std::nullopt;
  const uint32_t chosen = candidates[best.index()];
  Credit& credit = credit_of(figures[best.index()]);
  credit.tokens += request.tokens().empty() ? tunables_.mean_prefill_tokens
                                            : static_cast<double>(request.tokens().size());
  ++credit.requests;
  return chosen;
}

}  // namespace smg
