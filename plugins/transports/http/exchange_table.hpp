// The running exchanges of a loop and their numbers. A number is slot and generation, so one that
// has ended finds nothing. Exchanges do not move. One loop's own.
#pragma once

#include <memory>
#include <vector>

#include "exchange.hpp"

namespace smg::http {

class ExchangeTable {
 public:
  Exchange& acquire() {
    if (free_ == nullptr) grow();
    Exchange& exchange = *free_;
    free_ = exchange.next_free;
    return exchange;
  }

  // Its number becomes stale at once.
  void release(Exchange& exchange) {
    if (++exchange.generation == 0) exchange.generation = 1;
    exchange.next_free = free_;
    free_ = &exchange;
  }

  static uint64_t number(const Exchange& exchange) {
    return (uint64_t{exchange.generation} << 32) | exchange.slot;
  }

  // nullptr: unknown or ended.
  Exchange* find(uint64_t stream) {
    const auto slot = static_cast<uint32_t>(stream);
    if (slot / kChunk >= chunks_.size()) return nullptr;
    Exchange& exchange = chunks_[slot / kChunk][slot % kChunk];
    return exchange.generation == static_cast<uint32_t>(stream >> 32) ? &exchange : nullptr;
  }

 private:
  static constexpr uint32_t kChunk = 64;

  void grow() {
    const auto base = static_cast<uint32_t>(chunks_.size()) * kChunk;
    chunks_.push_back(std::make_unique<Exchange[]>(kChunk));
    for (uint32_t i = kChunk; i-- > 0;) {
      Exchange& exchange = chunks_.back()[i];
      exchange.slot = base + i;
      exchange.next_free = free_;
      free_ = &exchange;
    }
  }

  std::vector<std::unique_ptr<Exchange[]>> chunks_;
  Exchange* free_ = nullptr;
};

}  // namespace smg::http
