// Which member of a pool has a URL.
//
// An index is made when the host tells of a pool, and shared by all who choose from it. Of a pool
// that is not known, because it is an older one that a request still holds, a new index is made for
// the asking loop. On any thread; find() takes a lock and may build an index, so loops keep what
// they found for as long as the set of eligible workers stands still. It holds numbers only, about
// twelve bytes for a worker, because loops keep those of former pools for a while.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "smg/cpp/policy.hpp"

namespace manual {

class PoolIndex {
 public:
  explicit PoolIndex(const smg_pool& pool)
      : places_(std::bit_ceil(std::size_t{2} * pool.count + 1), kFree) {
    for (uint32_t i = 0; i < pool.count; ++i) {
      const std::size_t at = place_of(pool, smg::text(pool.workers[i]->url));
      if (places_[at] == kFree) places_[at] = i;
    }
  }

  // REQUIRES: `pool` is the one that the index was made of.
  std::optional<uint32_t> find(const smg_pool& pool, std::string_view url) const {
    const uint32_t found = places_[place_of(pool, url)];
    if (found == kFree) return std::nullopt;
    return found;
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;

  // Where the URL stands, or could stand.
  std::size_t place_of(const smg_pool& pool, std::string_view url) const {
    const std::size_t mask = places_.size() - 1;
    std::size_t at = std::hash<std::string_view>()(url) & mask;
    while (places_[at] != kFree && smg::text(pool.workers[places_[at]]->url) != url) {
      at = (at + 1) & mask;
    }
    return at;
  }

  std::vector<uint32_t> places_;  // open addressing, at most half full
};

class PoolIndexes {
 public:
  std::shared_ptr<const PoolIndex> find(const smg_pool& pool) const {
    {
      const std::lock_guard lock(mutex_);
      const auto known = by_generation_.find(pool.generation);
      if (known != by_generation_.end()) return known->second;
    }
    return std::make_shared<PoolIndex>(pool);
  }

  // [control] As smg/policy.h has it.
  void pool_changed(const smg_pool* before, const smg_pool* after) {
    const auto index = after != nullptr ? std::make_shared<PoolIndex>(*after) : nullptr;
    const std::lock_guard lock(mutex_);
    if (before != nullptr) by_generation_.erase(before->generation);
    if (after != nullptr) by_generation_[after->generation] = index;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<const PoolIndex>> by_generation_;
};

}  // namespace manual
