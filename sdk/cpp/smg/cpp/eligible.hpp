// The indices of a pool's eligible workers, computed once per change instead of once per request.
//
// A pool that has not changed has the same eligible workers as long as its epoch stands still
// (smg/worker.h), so each loop keeps the list it made last: a selection costs the same for 2
// workers as for 2000. Nothing is shared between loops and nothing is allocated unless a pool is
// new or has grown. Threads that are no loop share one copy under a lock.
//
// `Extra` is whatever a policy derives from the list and wants to keep with it; it is
// value-initialised for a new list, and `Entry::fresh` tells the policy that it has to be filled.
#pragma once

#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "smg/cpp/loop.hpp"
#include "smg/cpp/policy.hpp"

namespace smg {

struct NoExtra {};

template <class Extra = NoExtra>
class EligibleCache {
 public:
  struct Entry {
    std::vector<uint32_t> indices;  // ascending
    Extra extra{};
    bool fresh = false;  // the list was made by this very call

   private:
    friend class EligibleCache;
    uint64_t epoch = 0;
    bool valid = false;
  };

  explicit EligibleCache(Host host) : loop_(host), rows_(loop_.count()) {}

  // [any] Returns body(entry) for the pool's present entry, which may be used during the call only.
  template <class Body>
  auto with(const Pool& pool, Body&& body) {
    const uint32_t loop = loop_.current();
    if (loop < rows_.size()) return std::forward<Body>(body)(refreshed(rows_[loop], pool));
    const std::lock_guard lock(off_loop_mutex_);
    return std::forward<Body>(body)(refreshed(off_loop_, pool));
  }

 private:
  // Pools that went leave their entries behind; this many and the row is made anew.
  static constexpr std::size_t kMaxPools = 1024;

  struct alignas(64) Row {
    std::unordered_map<uint64_t, Entry> entries;  // by the pool's generation
  };

  static Entry& refreshed(Row& row, const Pool& pool) {
    const auto known = row.entries.find(pool.generation());
    if (known == row.entries.end() && row.entries.size() >= kMaxPools) row.entries.clear();
    Entry& entry = known != row.entries.end() ? known->second : row.entries[pool.generation()];
    const uint64_t epoch = pool.epoch();
    entry.fresh = !entry.valid || entry.epoch != epoch;
    if (entry.fresh) {
      entry.valid = false;
      entry.extra = Extra{};
      entry.indices.clear();
      entry.indices.reserve(pool.size());
      for (uint32_t i = 0; i < pool.size(); ++i) {
        if (pool.eligible(i)) entry.indices.push_back(i);
      }
      entry.epoch = epoch;
      entry.valid = true;
    }
    return entry;
  }

  Loop loop_;
  std::vector<Row> rows_;
  Row off_loop_;
  std::mutex off_loop_mutex_;
};

}  // namespace smg
