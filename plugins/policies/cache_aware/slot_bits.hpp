// A set of slots as bits: which workers are still in the running of a search. Not shared.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace cache_aware {

class SlotBits {
 public:
  static constexpr uint32_t kBits = 32;

  std::span<const uint32_t> words() const { return words_; }
  std::span<uint32_t> words() { return words_; }

  void clear() { words_.clear(); }
  // As long as `other`, and empty.
  void zero_like(const SlotBits& other) { words_.assign(other.words_.size(), 0); }
  void insert(uint32_t slot) {
    if (slot / kBits >= words_.size()) words_.resize(slot / kBits + 1);
    words_[slot / kBits] |= 1u << slot % kBits;
  }
  bool contains(uint32_t slot) const {
    return slot / kBits < words_.size() && (words_[slot / kBits] >> slot % kBits & 1u) != 0;
  }
  bool any() const {
    return std::any_of(words_.begin(), words_.end(), [](uint32_t word) { return word != 0; });
  }
  bool operator==(const SlotBits&) const = default;

  template <class Each>
  void for_each(Each&& each) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (uint32_t word = words_[i]; word != 0; word &= word - 1) {
        each(static_cast<uint32_t>(i * kBits) + static_cast<uint32_t>(std::countr_zero(word)));
      }
    }
  }

 private:
  std::vector<uint32_t> words_;
};

}  // namespace cache_aware
