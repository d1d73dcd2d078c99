// A consistent hash ring over the workers of one pool.
//
// Each worker stands at 150 positions, the hashes of `URL#0` to `URL#149`. A key belongs to the
// worker at the first position at or after its own hash, and the ring is closed. So a worker that
// comes takes keys from all others and moves none between them; if one may not be chosen, its keys
// alone go elsewhere, each to the next worker clockwise.
//
// Members are numbered as in the list of URLs that the ring was made of: for a pool's URLs, by the
// index in the pool. A URL that stands there twice counts once, with its first index. Positions and
// owners are arrays of their own, since the search needs positions only. Immutable, any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hash64.hpp"
#include "visited.hpp"

namespace smg {

class HashRing {
 public:
  static constexpr uint32_t kNodesPerWorker = 150;

  HashRing() = default;

  // The ring of `urls`. Equal to one made from nothing, whatever `base` is; but only URLs that are
  // not in `base` have to be hashed. O(nodes of both rings).
  explicit HashRing(std::span<const std::string_view> urls, const HashRing& base = HashRing());

  // Where a key stands on the ring.
  static uint64_t position_of(std::string_view key) { return hash64(key); }

  // The first member from `position` on, clockwise, that `accepts(member)`; each is asked once.
  // nullopt: none does.
  template <class Accepts>
  std::optional<uint32_t> find(uint64_t position, Visited& visited, Accepts&& accepts) const {
    if (positions_.empty()) return std::nullopt;
    const auto from = std::lower_bound(positions_.begin(), positions_.end(), position);
    auto node = static_cast<std::size_t>(from - positions_.begin()) % positions_.size();
    if (accepts(owners_[node])) return owners_[node];
    visited.restart(urls_.size());
    visited.add(owners_[node]);
    for (uint32_t left = worker_count() - 1; left > 0;) {
      if (++node == owners_.size()) node = 0;
      if (!visited.add(owners_[node])) continue;
      if (accepts(owners_[node])) return owners_[node];
      --left;
    }
    return std::nullopt;
  }

  bool is_of(std::span<const std::string_view> urls) const {
    return std::equal(urls_.begin(), urls_.end(), urls.begin(), urls.end());
  }
  uint32_t worker_count() const {  // URLs that stand twice count once
    return static_cast<uint32_t>(positions_.size() / kNodesPerWorker);
  }
  std::span<const uint64_t> positions() const { return positions_; }  // ascending
  std::span<const uint32_t> owners() const { return owners_; }        // of the positions
  bool operator==(const HashRing&) const = default;

 private:
  std::vector<std::string> urls_;
  std::vector<uint64_t> positions_;
  std::vector<uint32_t> owners_;
};

}  // namespace smg
