#include "timer_wheel.hpp"

#include <algorithm>
#include <bit>

namespace smg::sim {

void Timer::arm(std::int64_t due_ms) {
  cancel();
  due_ms_ = due_ms;
  wheel_.insert(*this);
}

void Timer::cancel() {
  if (armed()) wheel_.unlink(*this);
}

TimerWheel::TimerWheel(std::int64_t now_ms) : tick_(now_ms), end_(*this, nullptr, nullptr) {}

void TimerWheel::insert(Timer& timer) {
  // due_ms_ names the slot, so that unlink finds the list again.
  timer.due_ms_ = std::max(timer.due_ms_, tick_ + 1);
  const std::size_t slot = slot_of(timer.due_ms_);
  Timer*& head = slots_[slot];
  timer.prev_ = nullptr;
  timer.next_ = head != nullptr ? head : &end_;
  if (head != nullptr) head->prev_ = &timer;
  head = &timer;
  used_[slot / 64] |= std::uint64_t{1} << (slot % 64);
  ++count_;
}

void TimerWheel::unlink(Timer& timer) {
  Timer* next = timer.next_ == &end_ ? nullptr : timer.next_;
  if (next != nullptr) next->prev_ = timer.prev_;
  if (timer.prev_ != nullptr) {
    timer.prev_->next_ = timer.next_;
  } else {
    const std::size_t slot = slot_of(timer.due_ms_);
    slots_[slot] = next;
    if (next == nullptr) used_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
  }
  timer.prev_ = nullptr;
  timer.next_ = nullptr;
  --count_;
}

void TimerWheel::run(std::int64_t now_ms) {
  const std::int64_t first = tick_ + 1;
  const std::int64_t last = std::min(now_ms, tick_ + kSlots);
  if (now_ms < first) return;
  tick_ = now_ms;
  for (std::int64_t tick = first; tick <= last; ++tick) {
    // A callback may arm and cancel any timer, so look again from the head after each one. What it
    // arms is due later than now_ms, hence never runs here.
    while (true) {
      Timer* timer = slots_[slot_of(tick)];
      while (timer != nullptr && timer != &end_ && timer->due_ms_ > now_ms) timer = timer->next_;
      if (timer == nullptr || timer == &end_) break;
      timer->cancel();
      timer->callback_(timer->argument_);
    }
  }
}

int TimerWheel::timeout(std::int64_t now_ms) const {
  if (count_ == 0) return -1;
  const std::int64_t first = tick_ + 1;
  std::size_t slot = slot_of(first);
  for (std::int64_t ahead = 0; ahead < kSlots;) {
    const std::uint64_t word = used_[slot / 64] >> (slot % 64);
    if (word != 0) {
      const std::int64_t due = first + ahead + std::countr_zero(word);
      return static_cast<int>(std::max<std::int64_t>(0, due - now_ms));
    }
    const auto step = static_cast<std::int64_t>(64 - slot % 64);
    ahead += step;
    slot = (slot + static_cast<std::size_t>(step)) % kSlots;
  }
  return static_cast<int>(kSlots);
}

}  // namespace smg::sim
