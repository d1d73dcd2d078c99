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
#include <optional>
#include <unordered_map>
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

  // [any] The index that body(entry) answers for the pool's present list; nullopt if it declines.
  // The entry may be used during the call only. A state word moves a moment before the epoch does:
  // if the choice turns out to be no longer eligible, the list is made anew and `body` asked once
  // more.
  template <class Body>
  std::optional<uint32_t> choose(const Pool& pool, Body&& body) {
    const uint32_t loop = loop_.current();
    if (loop < rows_.size()) return choose_from(rows_[loop], pool, body);
    const std::lock_guard lock(off_loop_mutex_);
    return choose_from(off_loop_, pool, body);
  }

 private:
  // Pools that went leave their entries behind; this many and the row is made anew.
  static constexpr std::size_t kMaxPools = 1024;

  struct alignas(64) Row {
    std::unordered_map<uint64_t, Entry> entries;  // by the pool's generation
  };

  template <class Body>
  static std::optional<uint32_t> choose_from(Row& row, const Pool& pool, Body& body) {
    const auto known = row.entries.find(pool.generation());
    if (known == row.entries.end() && row.entries.size() >= kMaxPools) row.entries.clear();
    Entry& entry = known != row.entries.end() ? known->second : row.entries[pool.generation()];
    const uint64_t epoch = pool.epoch();
    entry.fresh = !entry.valid || entry.epoch != epoch;
    if (entry.fresh) make(entry, pool, epoch);
    std::optional<uint32_t> choice = body(entry);
    if (choice && !pool.eligible(*choice)) {
      make(entry, pool, epoch);
      entry.fresh = true;
      choice = body(entry);
    }
    return choice;
  }

  static void make(Entry& entry, const Pool& pool, uint64_t epoch) {
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

  Loop loop_;
  std::vector<Row> rows_;
  Row off_loop_;
  std::mutex off_loop_mutex_;
};

}  // namespace smg
