// Which member of a pool has a URL.
//
// An index is made when the host tells of a pool, and shared by all who choose from it. Of a pool
// that is not known, because it is an older one that a request still holds, a new index is made for
// the asking loop. On any thread; find() takes a lock and may build an index, so loops keep what
// they found for as long as the set of eligible workers stands still.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "smg/cpp/policy.hpp"

namespace manual {

class PoolIndex {
 public:
  explicit PoolIndex(const smg_pool& pool) {
    by_url_.reserve(pool.count);
    for (uint32_t i = 0; i < pool.count; ++i) by_url_.emplace(smg::text(pool.workers[i]->url), i);
  }

  std::optional<uint32_t> find(std::string_view url) const {
    const auto found = by_url_.find(url);
    if (found == by_url_.end()) return std::nullopt;
    return found->second;
  }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> by_url_;
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
