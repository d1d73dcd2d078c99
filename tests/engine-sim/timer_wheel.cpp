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
  const std::size_t slot = slot_of(std::max(timer.due_ms_, tick_ + 1));
  List& list = slots_[slot];
  timer.prev_ = nullptr;
  timer.next_ = list.head != nullptr ? list.head : &end_;
  if (list.head != nullptr) list.head->prev_ = &timer;
  list.head = &timer;
  used_[slot / 64] |= std::uint64_t{1} << (slot % 64);
  // Remember the slot's tick in due_ms_, so that unlink finds the list again.
  timer.due_ms_ = std::max(timer.due_ms_, tick_ + 1);
  ++count_;
}

void TimerWheel::unlink(Timer& timer) {
  Timer* next = timer.next_ == &end_ ? nullptr : timer.next_;
  if (next != nullptr) next->prev_ = timer.prev_;
  if (timer.prev_ != nullptr) {
    timer.prev_->next_ = timer.next_;
  } else {
    const std::size_t slot = slot_of(timer.due_ms_);
    if (slots_[slot].head == &timer) {
      slots_[slot].head = next;
      if (next == nullptr) used_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
    }
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
    List& list = slots_[slot_of(tick)];
    if (list.head == nullptr) continue;
    // What a callback arms lands behind now_ms or, a whole round later, at the head of this list;
    // both are skipped here because their due time lies ahead.
    Timer fence(*this, nullptr, nullptr);
    fence.due_ms_ = tick;
    while (true) {
      Timer* timer = list.head;
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
