#include "histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace smg::bench {
namespace {

constexpr unsigned kSubBits = 7;
constexpr std::uint64_t kSub = 1U << kSubBits;
constexpr unsigned kValueBits = 42;
constexpr std::size_t kBuckets = (kValueBits - kSubBits + 1) * kSub;

std::size_t index_of(std::uint64_t value) {
  if (value < kSub) return value;
  const auto shift = static_cast<unsigned>(std::bit_width(value)) - kSubBits - 1;
  return std::min((shift + 1) * kSub + ((value >> shift) - kSub), kBuckets - 1);
}

std::uint64_t upper_edge(std::size_t index) {
  if (index < kSub) return index;
  const auto shift = index / kSub - 1;
  return ((index % kSub + kSub + 1) << shift) - 1;
}

}  // namespace

Histogram::Histogram() : buckets_(kBuckets) {}

void Histogram::record(std::int64_t ns) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
  ++buckets_[index_of(value)];
  ++count_;
  sum_ += value;
  max_ = std::max(max_, value);
}

double Histogram::mean_ms() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_) / 1e6;
}

double Histogram::max_ms() const {
  return static_cast<double>(max_) / 1e6;
}

double Histogram::quantile_ms(double q) const {
  const auto rank = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen > 0 && seen >= rank) return static_cast<double>(std::min(upper_edge(i), max_)) / 1e6;
  }
  return 0;
}

}  // namespace smg::bench
