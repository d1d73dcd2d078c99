// Hash placement: which workers were given a prompt with these first tokens, lately. Section 6.6.6
// of the policies page.
//
// A map from (boundary, hash of that many first tokens) to at most three holders with the time of
// the last use. A holder is dead once it was not used for longer than the time to live; dead ones
// are skipped and go with the next record or sweep. In shards with a mutex each, held for one
// look-up. A full shard gives up its entries one after another in no order that matters, so
// memory is bounded whatever clients send. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenants.hpp"

namespace cache_aware {

struct PlacementKey {
  uint64_t hash;  // of the first `boundary` tokens
  uint32_t boundary;
  bool operator==(const PlacementKey&) const = default;
};

struct Holders {
  static constexpr uint32_t kMax = 3;
  std::array<Tenant, kMax> tenants{};
  uint32_t count = 0;

  std::span<const Tenant> all() const { return {tenants.data(), count}; }
};

// Times are nanoseconds of the host's monotonic clock.
class Placement {
 public:
  static constexpr std::size_t kMaxEntries = std::size_t{1} << 20;

  // `tenants` says who is still there.
  Placement(const Tenants& tenants, uint64_t ttl, std::size_t max_entries = kMaxEntries)
      : tenants_(tenants), ttl_(ttl), shard_limit_(max_entries / kShards + 1) {}

  Holders find(const PlacementKey& key, uint64_t now) const;

  // Makes the worker a holder, or marks it as used; of three others the longest unused goes. No
  // effect if the worker has left.
  void record(const PlacementKey& key, Tenant worker, uint64_t now);

  // [control] No trace stays. REQUIRES: the worker is no longer alive.
  void forget(Tenant worker);

  // Drops what is dead.
  void sweep(uint64_t now);

  void clear();

  // Calls each(PlacementKey, Tenant, last use) for all holders of all keys, without a lock.
  template <class Each>
  void for_each(Each each) const {
    std::vector<std::pair<PlacementKey, Entry>> entries;
    for (const Shard& shard : shards_) {
      {
        const std::lock_guard lock(shard.mutex);
        entries.assign(shard.entries.begin(), shard.entries.end());
      }
      for (const auto& [key, entry] : entries) {
        for (uint32_t i = 0; i < entry.count; ++i) {
          each(key, entry.holders[i].worker, entry.holders[i].last_use);
        }
      }
    }
  }

  std::size_t size() const { return size_.load(std::memory_order_relaxed); }  // keys
  // For tests: walks everything.
  std::size_t recount() const;
  bool has_trace(uint32_t slot) const;

 private:
  struct Holder {
    Tenant worker;
    uint64_t last_use = 0;
  };
  struct Entry {
    std::array<Holder, Holders::kMax> holders{};
    uint32_t count = 0;
  };
  struct Hash {
    std::size_t operator()(const PlacementKey& key) const {
      return key.hash ^ (key.boundary * 0x9e3779b97f4a7c15u);
    }
  };
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    std::unordered_map<PlacementKey, Entry, Hash> entries;
    std::size_t hand = 0;  // bucket to give up next
  };
  static constexpr std::size_t kShards = 64;

  static std::size_t home_of(const PlacementKey& key) { return (key.hash >> 40) % kShards; }
  bool dead(const Holder& holder, uint64_t now) const {
    return now > holder.last_use && now - holder.last_use > ttl_;
  }
  template <class Goes>
  static void remove_holders(Entry& entry, Goes goes);
  template <class Goes>
  void remove_everywhere(Goes goes);
  void make_room(Shard& shard);

  const Tenants& tenants_;
  const uint64_t ttl_;
  const std::size_t shard_limit_;
  std::array<Shard, kShards> shards_;
  std::atomic<std::size_t> size_{0};
};

}  // namespace cache_aware
