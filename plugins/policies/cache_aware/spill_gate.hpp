// Who of a group that holds a prompt's beginning may take the request: section 6.6.3 of the
// policies page.
//
//   hot(w) = load(w) > mean * rel  and  load(w) > mean + abs
//
// with the load in requests in flight and the mean over all eligible workers. Whoever is not hot
// stays; if all are hot, the request goes to the others. Judged per request and candidate: one hot
// worker neither costs the rest of its group their requests, nor others their affinity. A mean is
// never negative, so no worker is looked at while nobody in the group exceeds `abs`.
//
// A prompt's beginning that many prompts have, say a system prompt, is worth less: any worker has
// it after one prefill. For those, `abs` is kSharedAbs, so that the beginning spreads to idle
// workers before a queue forms on the first one. Any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "smg/cpp/policy.hpp"

namespace cache_aware {

class SpillGate {
 public:
  // `rel` is compared as the 32-bit number that was configured.
  SpillGate(double rel, double abs) : rel_(static_cast<float>(rel)), abs_(abs) {}

  static constexpr double kSharedAbs = 1;

  // `shared`: what the group holds of the prompt is what many prompts begin with.
  bool hot(double load, double mean, bool shared = false) const {
    return load > mean * static_cast<double>(rel_) && load > mean + abs(shared);
  }

  struct Verdict {
    std::span<const uint32_t> candidates;
    bool spilled;  // nobody of the group is among the candidates
  };
  // Indices into the pool. `room` may hold the answer. REQUIRES: `eligible` is not empty.
  Verdict admit(const smg::Pool& pool, std::span<const uint32_t> eligible,
                std::span<const uint32_t> group, bool shared, std::vector<uint32_t>& room) const {
    if (group.empty()) return {eligible, false};
    uint32_t highest = 0;
    for (const uint32_t index : group) highest = std::max(highest, pool.in_flight(index));
    if (highest <= abs(shared)) return {group, false};
    const auto count = static_cast<double>(eligible.size());
    double sum = 0;
    for (std::size_t i = 0; i < eligible.size(); ++i) {
      sum += pool.in_flight(eligible[i]);
      // The mean can only be higher, and the highest load be less hot.
      if (i % kStride == kStride - 1 && !hot(highest, sum / count, shared)) return {group, false};
    }
    const double mean = sum / count;
    const auto keep_cool = [&](std::span<const uint32_t> of) {
      room.clear();
      for (const uint32_t index : of) {
        if (!hot(pool.in_flight(index), mean, shared)) room.push_back(index);
      }
    };
    keep_cool(group);
    if (!room.empty()) return {room, false};
    keep_cool(eligible);
    // Loads move meanwhile, so it may look as if everybody were above the mean.
    if (!room.empty()) return {room, true};
    return {eligible, false};
  }

 private:
  static constexpr std::size_t kStride = 256;

  double abs(bool shared) const { return shared ? std::min(abs_, kSharedAbs) : abs_; }

  float rel_;
  double abs_;
};

}  // namespace cache_aware
