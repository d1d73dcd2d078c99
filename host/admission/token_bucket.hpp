// A bucket of tokens that starts full and refills at a steady rate. Not for several threads at
// once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace smg {

class TokenBucket {
 public:
  TokenBucket(double capacity, double per_second)
      : capacity_(capacity), per_second_(per_second), tokens_(capacity) {}

  // Times may step back: loops read their clocks one after the other.
  void refill(std::uint64_t now) {
    if (now <= refilled_) return;
    if (per_second_ > 0) {
      add(per_second_ * static_cast<double>(now - refilled_) / 1e9);
    }
    refilled_ = now;
  }
  bool take() {
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }
  void give_back() { add(1); }
  // When there will be a token if none is given back; REQUIRES: a rate above 0, refill(now).
  std::uint64_t next_token(std::uint64_t now) const {
    return now +
           static_cast<std::uint64_t>(std::ceil(std::max(0.0, 1 - tokens_) / per_second_ * 1e9));
  }
  // Tokens that are out stay out: a smaller bucket may owe some.
  void resize(double capacity, double per_second) {
    tokens_ += capacity - capacity_;
    capacity_ = capacity;
    per_second_ = per_second;
  }
  double per_second() const { return per_second_; }

 private:
  void add(double tokens) { tokens_ = std::min(capacity_, tokens_ + tokens); }

  double capacity_;
  double per_second_;
  double tokens_;
  std::uint64_t refilled_ = 0;
};

}  // namespace smg
