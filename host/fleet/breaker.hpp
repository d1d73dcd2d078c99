// The circuit breaker of one worker: closed, open after a run of failures, half-open after a while.
//
// Any thread. While it is closed and nothing fails, an outcome costs two relaxed loads; the rest
// takes a lock. Times are monotonic nanoseconds that the caller brings.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>

namespace smg {

struct BreakerLimits {
  static constexpr std::uint32_t kNever = 0xffffffffu;
  std::uint32_t failures = 10;              // in a row, that open it; kNever: no breaker
  std::uint32_t successes = 3;              // in a row, that close it again
  std::uint64_t open_for = 60'000'000'000;  // before it lets requests through again
};

enum class BreakerState : std::uint8_t { closed = 0, open = 1, half_open = 2 };
std::string_view name_of(BreakerState state);

class Breaker {
 public:
  // Called under the lock, so changes arrive in order. It must not call back.
  using Listener = std::function<void(BreakerState before, BreakerState after)>;

  Breaker(const BreakerLimits& limits, Listener listener);

  void record(bool success, std::uint64_t now);
  // Half-opens it if its time has come. Called before the state decides on anything.
  void look(std::uint64_t now);
  // Closed, with both runs at zero, whatever it was.
  void reset(std::uint64_t now);

  // From the next outcome on; but one that shall never open does not stay open.
  void configure(const BreakerLimits& limits);

  BreakerState state() const { return state_.load(std::memory_order_relaxed); }
  std::uint32_t failures() const { return failures_.load(std::memory_order_relaxed); }
  std::uint32_t successes() const { return successes_.load(std::memory_order_relaxed); }

 private:
  void move(BreakerState state, std::uint64_t now);

  BreakerLimits limits_;
  const Listener listener_;
  std::mutex mutex_;
  std::atomic<BreakerState> state_{BreakerState::closed};
  std::atomic<std::uint32_t> failures_{0};   // run of them
  std::atomic<std::uint32_t> successes_{0};  // counted while half-open only
  std::uint64_t moved_at_ = 0;
};

}  // namespace smg
