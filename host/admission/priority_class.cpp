#include "host/admission/priority_class.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace smg {
namespace {

constexpr std::uint32_t kMaxCapacity = 65535;
constexpr std::uint32_t kUnknownCapacity = 1024;  // no worker, and no usable limit
constexpr std::uint32_t kCapacityOfWorker = 64;   // of one without a label

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::optional<std::size_t> priority_rank(std::string_view name) {
  const auto first = name.find_first_not_of(" \t");
  if (first == std::string_view::npos) return std::nullopt;
  name = name.substr(first, name.find_last_not_of(" \t") - first + 1);
  for (std::size_t rank = 0; rank < defaults::kPriorityClasses.size(); ++rank) {
    const std::string_view known = defaults::kPriorityClasses[rank];
    if (std::equal(name.begin(), name.end(), known.begin(), known.end(),
                   [](char a, char b) { return lower(a) == b; })) {
      return rank;
    }
  }
  return std::nullopt;
}

std::uint32_t scheduler_capacity(const FleetCapacity& fleet, std::int64_t without_workers) {
  if (fleet.workers == 0) {
    const bool fits = without_workers > 0 && without_workers <= kMaxCapacity;
    return fits ? static_cast<std::uint32_t>(without_workers) : kUnknownCapacity;
  }
  const std::uint64_t sum =
      fleet.reported + std::uint64_t{kCapacityOfWorker} * (fleet.workers - fleet.reporting);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, kMaxCapacity));
}

std::uint32_t reservation(const PriorityClass& of, std::uint32_t capacity) {
  // A share that meets a whole number must not become the next one by rounding.
  const double share = std::ceil(of.reserved_per_slot * capacity - 1e-9);
  const auto wanted = std::max(static_cast<double>(of.reserved_floor), share);
  return static_cast<std::uint32_t>(std::min(wanted, static_cast<double>(capacity)));
}

void FleetCapacity::add(std::string_view label) {
  ++workers;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), value);
  if (error != std::errc() || end != label.data() + label.size() || value == 0) return;
  ++reporting;
  reported += value;
}

}  // namespace smg
