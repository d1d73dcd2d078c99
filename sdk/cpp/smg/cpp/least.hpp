// The least of the values that are offered one by one; of equal ones each is equally likely.
//
//   smg::Least<uint32_t> least(request.random());
//   for (const uint32_t i : eligible) least.offer(i, pool.in_flight(i));
//   if (least.any()) return least.index();
//
// No list of the equal ones is kept: the j-th of them takes the place of the one before with
// probability 1/j. REQUIRES: no value is a NaN.
#pragma once

#include <cstdint>

namespace smg {

template <class Value>
class Least {
 public:
  constexpr explicit Least(uint64_t random) : random_(random) {}

  constexpr void offer(uint32_t index, Value value) {
    if (equal_ == 0 || value < value_) {
      index_ = index;
      value_ = value;
      equal_ = 1;
    } else if (value == value_) {
      random_ = random_ * 6364136223846793005u + 1442695040888963407u;
      // Below 2^32 / j, without a division.
      if ((random_ >> 32) * ++equal_ >> 32 == 0) index_ = index;
    }
  }

  constexpr bool any() const { return equal_ > 0; }
  // REQUIRES: any().
  constexpr uint32_t index() const { return index_; }
  constexpr Value value() const { return value_; }

 private:
  uint64_t random_;
  uint64_t equal_ = 0;
  uint32_t index_ = 0;
  Value value_{};
};

}  // namespace smg
