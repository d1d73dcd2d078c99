// Tickets of a loop: numbers that stand for running attempts and go stale when those end.
//
// A ticket is slot and generation, so a late or doubled call of a transport finds nothing. One
// loop's own; no locks.
#pragma once

#include <cstdint>
#include <vector>

namespace smg {

class Exchange;

class ExchangeTable {
 public:
  std::uint64_t insert(Exchange* exchange) {
    if (free_ == kNone) {
      slots_.push_back({});
      slots_.back().next = kNone;
      free_ = static_cast<std::uint32_t>(slots_.size() - 1);
    }
    const std::uint32_t index = free_;
    Slot& slot = slots_[index];
    free_ = slot.next;
    slot.exchange = exchange;
    return (std::uint64_t{slot.generation} << 32) | index;
  }
  // nullptr: the attempt has ended.
  Exchange* find(std::uint64_t ticket) const {
    const auto index = static_cast<std::uint32_t>(ticket);
    if (index >= slots_.size()) return nullptr;
    const Slot& slot = slots_[index];
    return slot.generation == static_cast<std::uint32_t>(ticket >> 32) ? slot.exchange : nullptr;
  }
  void erase(std::uint64_t ticket) {
    if (find(ticket) == nullptr) return;
    const auto index = static_cast<std::uint32_t>(ticket);
    Slot& slot = slots_[index];
    slot.exchange = nullptr;
    ++slot.generation;
    slot.next = free_;
    free_ = index;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  struct Slot {
    Exchange* exchange = nullptr;
    std::uint32_t generation = 1;
    std::uint32_t next = kNone;
  };
  std::vector<Slot> slots_;
  std::uint32_t free_ = kNone;
};

}  // namespace smg
