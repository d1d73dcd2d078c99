#include "host/fleet/breaker.hpp"

namespace smg {

std::string_view name_of(BreakerState state) {
  switch (state) {
    case BreakerState::open:
      return "open";
    case BreakerState::half_open:
      return "half_open";
    case BreakerState::closed:
      break;
  }
  return "closed";
}

Breaker::Breaker(const BreakerLimits& limits, Listener listener)
    : limits_(limits), listener_(std::move(listener)) {}

void Breaker::record(bool success, std::uint64_t now) {
  if (success && state() == BreakerState::closed && failures() == 0) return;
  const std::lock_guard lock(mutex_);
  switch (state()) {
    case BreakerState::open:
      // What ends late says nothing about the worker as it is now.
      return;
    case BreakerState::closed:
      if (success) {
        failures_.store(0, std::memory_order_relaxed);
      } else if (failures_.fetch_add(1, std::memory_order_relaxed) + 1 >= limits_.failures) {
        move(BreakerState::open, now);
      }
      return;
    case BreakerState::half_open:
      if (!success) {
        move(BreakerState::open, now);
      } else if (successes_.fetch_add(1, std::memory_order_relaxed) + 1 >= limits_.successes) {
        move(BreakerState::closed, now);
      }
      return;
  }
}

void Breaker::look(std::uint64_t now) {
  if (state() != BreakerState::open) return;
  const std::lock_guard lock(mutex_);
  if (state() == BreakerState::open && now >= moved_at_ + limits_.open_for) {
    move(BreakerState::half_open, now);
  }
}

void Breaker::reset(std::uint64_t now) {
  const std::lock_guard lock(mutex_);
  move(BreakerState::closed, now);
}

void Breaker::configure(const BreakerLimits& limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
  if (limits.failures == BreakerLimits::kNever) move(BreakerState::closed, moved_at_);
}

void Breaker::move(BreakerState state, std::uint64_t now) {
  const BreakerState before = state_.exchange(state, std::memory_order_relaxed);
  // An opened breaker shows the run that opened it.
  if (state != BreakerState::open) failures_.store(0, std::memory_order_relaxed);
  successes_.store(0, std::memory_order_relaxed);
  moved_at_ = now;
  if (before != state) listener_(before, state);
}

}  // namespace smg
