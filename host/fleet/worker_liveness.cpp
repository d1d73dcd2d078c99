#include "host/fleet/worker_liveness.hpp"

#include <algorithm>

namespace smg {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kLongestPrefill = 120 * kSecond;
constexpr std::uint64_t kAssumedRate = 10'000;  // tokens/s, until one is measured
constexpr std::int64_t kDeepPile = 4;

std::uint64_t since(std::uint64_t then, std::uint64_t now) {
  return now > then ? now - then : 0;
}

// min(max(wedge, needed), max(wedge, 120 s)).
std::uint64_t stretched(std::uint64_t wedge, std::uint64_t needed) {
  return std::min(std::max(wedge, needed), std::max(wedge, kLongestPrefill));
}

}  // namespace

std::string_view name_of(Veto veto) {
  switch (veto) {
    case Veto::unreachable:
      return "unreachable";
    case Veto::wedged:
      return "wedged";
    case Veto::none:
      break;
  }
  return "none";
}

WorkerLiveness::WorkerLiveness(const LivenessBounds& bounds, std::uint64_t now, Listener listener)
    : listener_(std::move(listener)),
      last_contact_(now),
      progress_clock_(now),
      bounds_(bounds),
      idle_since_(now) {}

void WorkerLiveness::contact(std::uint64_t now, std::string_view cause) {
  last_contact_.store(now, std::memory_order_relaxed);
  if (!watched_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  contact_locked(now, cause);
}

void WorkerLiveness::contact_locked(std::uint64_t now, std::string_view cause) {
  last_contact_.store(now, std::memory_order_relaxed);
  failure_pending_ = false;
  if (veto() == Veto::unreachable) set(now, Veto::none, cause);
  watched_.store(veto() != Veto::none || engine_stalled_, std::memory_order_relaxed);
}

void WorkerLiveness::progress(std::uint64_t now) {
  progress_clock_.store(now, std::memory_order_relaxed);
  last_contact_.store(now, std::memory_order_relaxed);
  if (!watched_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  failure_pending_ = engine_stalled_ = false;
  if (veto() != Veto::none) set(now, Veto::none, "progress");
  watched_.store(false, std::memory_order_relaxed);
}

void WorkerLiveness::connection_failed(std::uint64_t now, std::string_view channel) {
  const std::lock_guard lock(mutex_);
  failure_pending_ = true;
  watched_.store(true, std::memory_order_relaxed);
  if (veto() == Veto::unreachable) return;
  if (contact_age(now) >= bounds_.stall) set(now, Veto::unreachable, channel);
}

void WorkerLiveness::tracked_load(std::uint64_t now, std::int32_t delta) {
  const std::int64_t before = tracked_.fetch_add(delta, std::memory_order_relaxed);
  // The clock starts with the first stream: what happened before says nothing about it.
  if (before == 0 && delta > 0) progress_clock_.store(now, std::memory_order_relaxed);
}

void WorkerLiveness::prefill_pending(std::uint64_t now, std::int64_t delta) {
  if (delta == 0) return;
  const std::int64_t before = prefill_pending_.fetch_add(delta, std::memory_order_relaxed);
  if (before != 0 && before + delta != 0) return;
  const std::lock_guard lock(mutex_);
  if (before + delta <= 0) {
    idle_since_ = now;
  } else if (since(idle_since_, now) > kSecond) {
    window_opened_.reset();  // an idle spell would understate the rate
  }
}

void WorkerLiveness::first_response(std::uint64_t now, std::uint64_t prompt_tokens) {
  if (prompt_tokens == 0) return;
  {
    const std::lock_guard lock(mutex_);
    if (!window_opened_) {
      window_opened_ = now;
      window_tokens_ = 0;
    }
    window_tokens_ += prompt_tokens;
    const std::uint64_t elapsed = since(*window_opened_, now) / kMillisecond;
    if (elapsed >= 1000) {
      rate_.store(window_tokens_ * 1000 / elapsed, std::memory_order_relaxed);
      window_opened_.reset();
    }
  }
  prefill_pending(now, -static_cast<std::int64_t>(prompt_tokens));
}

void WorkerLiveness::report(std::uint64_t now, const LivenessEvidence& evidence) {
  const std::lock_guard lock(mutex_);
  contact_locked(now, "contact");
  // A poll has no figure of silence, so it leaves what the last record said.
  if (evidence.pushed) {
    pushes_ = true;
    engine_stalled_ = bounds_.wedge > 0 && engine_is_silent(evidence);
  }
  const std::int64_t streams = tracked();
  const std::uint64_t age = progress_age(now);
  const std::uint64_t bound = wedge_bound_locked();
  if (veto() == Veto::wedged) {
    if (!engine_stalled_ && (age < bounds_.wedge || streams == 0 || age < bound)) {
      set(now, Veto::none, "engine output resumed");
    }
  } else if (bounds_.wedge > 0) {
    const bool queue = evidence.waiting > 0 || evidence.waiting > previous_waiting_;
    if (evidence.pushed && engine_stalled_) {
      set(now, Veto::wedged, "the engine reports no output for its in-flight requests");
    } else if (streams > 0 && queue && age >= bound) {
      set(now, Veto::wedged, "no progress with a waiting queue");
    }
  }
  previous_waiting_ = evidence.waiting;
  watched_.store(veto() != Veto::none || engine_stalled_, std::memory_order_relaxed);
}

void WorkerLiveness::record_channel_ended() {
  const std::lock_guard lock(mutex_);
  engine_stalled_ = false;
}

void WorkerLiveness::start_afresh(std::uint64_t now) {
  const std::lock_guard lock(mutex_);
  last_contact_.store(now, std::memory_order_relaxed);
  progress_clock_.store(now, std::memory_order_relaxed);
  failure_pending_ = pushes_ = engine_stalled_ = false;
  previous_waiting_ = 0;
  window_opened_.reset();
  set(now, Veto::none, "registered anew");
  watched_.store(false, std::memory_order_relaxed);
}

void WorkerLiveness::configure(std::uint64_t now, const LivenessBounds& bounds) {
  const std::lock_guard lock(mutex_);
  bounds_ = bounds;
  if (bounds.wedge == 0) engine_stalled_ = false;
  const bool wide = !engine_stalled_ && progress_age(now) < wedge_bound_locked();
  if (veto() == Veto::wedged && (bounds.wedge == 0 || wide)) {
    set(now, Veto::none, "other bounds");
  }
  watched_.store(veto() != Veto::none || failure_pending_ || engine_stalled_,
                 std::memory_order_relaxed);
}

void WorkerLiveness::check(std::uint64_t now) {
  const std::lock_guard lock(mutex_);
  const std::int64_t streams = tracked();
  const std::int64_t before = previous_tracked_;
  previous_tracked_ = streams;
  if (veto() == Veto::unreachable) return;
  const std::uint64_t age = contact_age(now);
  if (failure_pending_ && age >= bounds_.stall) {
    set(now, Veto::unreachable, "silent since a transport failure");
  } else if (pushes_ && bounds_.stale > 0 && age >= bounds_.stale) {
    set(now, Veto::unreachable, "load records stopped");
  } else if (veto() == Veto::wedged) {
    if (streams == 0 && !engine_stalled_) set(now, Veto::none, "drained");
  } else if (bounds_.wedge > 0 && streams > 0 && (streams > before || streams >= kDeepPile) &&
             progress_age(now) >= wedge_bound_locked()) {
    set(now, Veto::wedged, "in-flight requests pile up without progress");
  }
}

std::uint64_t WorkerLiveness::wedge_bound() const {
  const std::lock_guard lock(mutex_);
  return wedge_bound_locked();
}

std::uint64_t WorkerLiveness::wedge_bound_locked() const {
  const auto pending = static_cast<std::uint64_t>(
      std::max<std::int64_t>(prefill_pending_.load(std::memory_order_relaxed), 0));
  const std::uint64_t rate = prefill_rate() > 0 ? prefill_rate() : kAssumedRate;
  return stretched(bounds_.wedge, pending * 1000 / rate * kMillisecond);
}

std::uint64_t WorkerLiveness::contact_age(std::uint64_t now) const {
  return since(last_contact_.load(std::memory_order_relaxed), now);
}

std::uint64_t WorkerLiveness::progress_age(std::uint64_t now) const {
  return since(progress_clock_.load(std::memory_order_relaxed), now);
}

bool WorkerLiveness::engine_is_silent(const LivenessEvidence& evidence) const {
  if (!evidence.silence_ms) return false;
  std::uint64_t allowed = bounds_.wedge;
  if (!evidence.reports_steps) {
    // On a wire that shows tokens only, a long prefill is silent too.
    if (!evidence.prefill_pending_tokens || prefill_rate() == 0) return false;
    allowed = stretched(bounds_.wedge, *evidence.prefill_pending_tokens * std::uint64_t{2000} /
                                           prefill_rate() * kMillisecond);
  }
  return *evidence.silence_ms * kMillisecond >= allowed;
}

void WorkerLiveness::set(std::uint64_t now, Veto veto, std::string_view cause) {
  const Veto before = veto_.exchange(veto, std::memory_order_relaxed);
  // A worker that is gone reports nothing: contact alone brings it back.
  if (veto == Veto::unreachable) engine_stalled_ = false;
  watched_.store(true, std::memory_order_relaxed);
  if (before == veto) return;
  listener_(
      {before, veto, cause, contact_age(now), before == Veto::unreachable && veto == Veto::none});
}

}  // namespace smg
