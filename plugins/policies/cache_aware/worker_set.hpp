// The workers that hold a block: a few slots mostly, all of the fleet for a shared prompt.
//
// One slot needs no memory of its own, up to kMaxListed are a sorted list, more are bits. Guarded
// by whoever owns it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "slot_bits.hpp"

namespace cache_aware {

class WorkerSet {
 public:
  static constexpr uint32_t kMaxListed = 64;

  uint32_t size() const { return count_; }
  bool contains(uint32_t slot) const {
    if (count_ == 0) return false;
    if (many_.empty()) return slot == only_;
    if (!bits_) return std::binary_search(many_.begin(), many_.end(), slot);
    return slot / 32 < many_.size() && (many_[slot / 32] >> slot % 32 & 1u) != 0;
  }

  // False: was there.
  bool insert(uint32_t slot) {
    if (contains(slot)) return false;
    if (bits_) {
      set_bit(slot);
    } else if (count_ == 0) {
      only_ = slot;
    } else {
      if (many_.empty()) many_.push_back(only_);
      many_.insert(std::upper_bound(many_.begin(), many_.end(), slot), slot);
      if (many_.size() > kMaxListed) list_to_bits();
    }
    ++count_;
    return true;
  }

  // False: was not there.
  bool erase(uint32_t slot) {
    if (!contains(slot)) return false;
    if (bits_) {
      many_[slot / 32] &= ~(1u << slot % 32);
    } else if (!many_.empty()) {
      many_.erase(std::lower_bound(many_.begin(), many_.end(), slot));
      if (many_.size() == 1) {
        only_ = many_.front();
        many_.clear();
      }
    }
    --count_;
    return true;
  }

  // Those of `among` that are here, in `both`.
  void intersect(const SlotBits& among, SlotBits& both) const {
    both.zero_like(among);
    if (count_ == 0) return;
    const auto take = [&](uint32_t slot) {
      if (among.contains(slot)) both.insert(slot);
    };
    if (many_.empty()) {
      take(only_);
    } else if (!bits_) {
      std::for_each(many_.begin(), many_.end(), take);
    } else {
      const std::size_t size = std::min(many_.size(), among.words().size());
      for (std::size_t i = 0; i < size; ++i) both.words()[i] = among.words()[i] & many_[i];
    }
  }

 private:
  void set_bit(uint32_t slot) {
    if (slot / 32 >= many_.size()) many_.resize(slot / 32 + 1);
    many_[slot / 32] |= 1u << slot % 32;
  }
  void list_to_bits() {
    std::vector<uint32_t> slots;
    slots.swap(many_);
    bits_ = true;
    for (const uint32_t slot : slots) set_bit(slot);
  }

  std::vector<uint32_t> many_;  // slots, or bits; empty: `only_` or nobody
  uint32_t only_ = 0;
  uint32_t count_ = 0;
  bool bits_ = false;
};

}  // namespace cache_aware
