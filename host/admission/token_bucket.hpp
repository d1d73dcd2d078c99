// A bucket of tokens that starts full and refills at a steady rate. Not for several threads at
// once.
#pragma once

#include <algorithm>
#include <cstdint>

namespace smg {

class TokenBucket {
 public:
  // REQUIRES: both at most 10^9.
  TokenBucket(std::uint64_t capacity, std::uint64_t per_second) { resize(capacity, per_second); }

  // Times may step back: loops read their clocks one after the other.
  void refill(std::uint64_t now) {
    if (now <= refilled_) return;
    const auto past = static_cast<std::int64_t>(now - refilled_);
    refilled_ = now;
    if (per_second_ == 0) return;
    const std::int64_t missing = capacity_ - parts_;
    parts_ = past > missing / per_second_ ? capacity_ : parts_ + past * per_second_;
  }
  bool take() {
    if (parts_ < kToken) return false;
    parts_ -= kToken;
    return true;
  }
  // take(), whether there is one or not.
  void borrow() { parts_ -= kToken; }
  void give_back() { parts_ = std::min(capacity_, parts_ + kToken); }
  // When there will be a token if none is given back; REQUIRES: a rate above 0, refill(now).
  std::uint64_t next_token(std::uint64_t now) const {
    const std::int64_t missing = std::max<std::int64_t>(0, kToken - parts_);
    return now + static_cast<std::uint64_t>((missing + per_second_ - 1) / per_second_);
  }
  // Tokens that are out stay out: a smaller bucket may owe some.
  void resize(std::uint64_t capacity, std::uint64_t per_second) {
    const std::int64_t before = capacity_;
    capacity_ = static_cast<std::int64_t>(capacity) * kToken;
    per_second_ = static_cast<std::int64_t>(per_second);
    parts_ += capacity_ - before;
  }
  bool refills() const { return per_second_ > 0; }

 private:
  // In parts of a token: a rate of one token per second is one part per ns.
  static constexpr std::int64_t kToken = 1'000'000'000;

  std::int64_t capacity_ = 0;
  std::int64_t per_second_ = 0;
  std::int64_t parts_ = 0;
  std::uint64_t refilled_ = 0;
};

}  // namespace smg
