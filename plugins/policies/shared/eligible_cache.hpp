// The eligible workers of a pool, found once and kept until the pool or anybody's eligibility
// changes.
//
// A scan of ten thousand state words for each request would cost more than all the rest of routing.
// smg_pool_epoch tells when a scan could give something new, so between two changes a look-up is
// two compares. Each loop has entries of its own, so nothing is shared and nothing locked; `Extra`
// is what a policy keeps along with a set.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "smg/host.h"
#include "smg/worker.h"

namespace smg_policies {

template <class Extra>
class EligibleCache {
 public:
  struct Entry {
    uint64_t generation = 0;  // of the pool; 0: nothing kept
    uint64_t epoch = 0;
    std::vector<uint32_t> indices;  // of the eligible workers, ascending
    Extra extra{};
  };

  // REQUIRES: `loops` is the host's loop service.
  EligibleCache(const smg_host* host, const smg_loop_service* loops)
      : host_(host), loops_(loops), per_loop_(loops->count(host)) {}

  // Calls use(entry) with the up-to-date entry of the pool; `renew(pool, entry)` fills `extra`
  // after a scan.
  template <class Renew, class Use>
  auto with(const smg_pool* pool, Renew renew, Use use) {
    const uint32_t loop = loops_->current(host_);
    if (loop >= per_loop_.size()) {
      // No loop's thread: correct, and slow.
      const std::lock_guard lock(mutex_);
      return use(up_to_date(foreign_, pool, renew));
    }
    return use(up_to_date(per_loop_[loop], pool, renew));
  }

 private:
  static constexpr size_t kPools = 16;  // a loop's entries; pools that share one replace each other
  struct alignas(64) Entries {
    std::array<Entry, kPools> entries;
  };

  template <class Renew>
  Entry& up_to_date(Entries& mine, const smg_pool* pool, Renew renew) {
    Entry& entry = mine.entries[pool->generation % kPools];
    const uint64_t epoch = smg_pool_epoch(pool);
    if (entry.generation == pool->generation && entry.epoch == epoch) return entry;
    entry.indices.clear();
    for (uint32_t i = 0; i < pool->count; ++i) {
      if (smg_pool_eligible(pool, i) != 0) entry.indices.push_back(i);
    }
    entry.generation = 0;  // stays so if renew throws
    renew(pool, entry);
    entry.generation = pool->generation;
    entry.epoch = epoch;
    return entry;
  }

  const smg_host* host_;
  const smg_loop_service* loops_;
  std::vector<Entries> per_loop_;
  std::mutex mutex_;
  Entries foreign_;
};

}  // namespace smg_policies
