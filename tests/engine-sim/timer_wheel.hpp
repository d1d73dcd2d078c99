#pragma once
// One-shot timers with millisecond ticks, hashed into a wheel of 8,192 slots. Arming, cancelling
// and firing are O(1); a timer further away than the wheel is looked at once per round. Times are
// milliseconds of the monotonic clock. A due time in the past fires one tick later. One thread.

#include <array>
#include <cstddef>
#include <cstdint>

namespace smg::sim {

class TimerWheel;

class Timer {
 public:
  using Callback = void (*)(void*);
  Timer(TimerWheel& wheel, Callback callback, void* argument)
      : wheel_(wheel), callback_(callback), argument_(argument) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() { cancel(); }

  void arm(std::int64_t due_ms);
  void cancel();
  bool armed() const { return next_ != nullptr; }

 private:
  friend class TimerWheel;
  TimerWheel& wheel_;
  Callback callback_;
  void* argument_;
  Timer* prev_ = nullptr;
  Timer* next_ = nullptr;
  std::int64_t due_ms_ = 0;
};

class TimerWheel {
 public:
  explicit TimerWheel(std::int64_t now_ms);
  // Fires everything due at or before now_ms. Timers armed by a callback wait for the next run.
  void run(std::int64_t now_ms);
  // Milliseconds until the next slot that holds a timer; 0 = due already; -1 = no timer at all.
  int timeout(std::int64_t now_ms) const;

 private:
  friend class Timer;
  static constexpr std::int64_t kSlots = 8192;
  static constexpr std::size_t kWords = kSlots / 64;

  void insert(Timer& timer);
  void unlink(Timer& timer);
  static std::size_t slot_of(std::int64_t tick) {
    return static_cast<std::size_t>(tick & (kSlots - 1));
  }

  std::int64_t tick_;  // the last tick that was run
  std::size_t count_ = 0;
  std::array<Timer*, kSlots> slots_{};
  std::array<std::uint64_t, kWords> used_{};
  // The end mark of every list: a linked timer never has a null next_.
  Timer end_;
};

}  // namespace smg::sim
