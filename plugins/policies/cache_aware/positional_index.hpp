// Which workers hold which blocks, by what their engines say: section 7.3 of the policies page.
//
// One map from prefix hash (hashes.hpp) to the set of workers that hold that block after that
// prefix. The prefix hash implies the block's position and all blocks before it, so every look-up
// checks the prefix, and a worker that holds the same block after another prefix does not count.
// For each worker a book from the engine's own block hashes, which name blocks in removals and as
// parents, to prefix hashes.
//
// find() assumes that a cache holds the prefixes of what it holds, as engines do that drop the ends
// first: it looks kJump blocks ahead and, where workers part, walks block by block if all scores
// are asked for, or else bisects for the farthest.
//
// The map is in shards with a reader-writer lock each, held for one block at a time. Writers (the
// bus thread that applies events, the control thread that removes a worker, the evictor that
// prunes, restore()) exclude each other by one mutex; find() is for any thread and never takes it.
// Nothing is allocated before the first block. Workers that are not alive in `tenants` are refused;
// whoever uses what find() gave checks alive() after it, because a slot may have gone to another
// worker meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "slot_bits.hpp"
#include "tenants.hpp"
#include "worker_set.hpp"

namespace cache_aware {

struct StoredBlocks {
  std::span<const uint64_t> engine_hashes;
  std::optional<uint64_t> parent = {};  // engine hash before the first; none: they begin a prompt
  std::span<const uint32_t> tokens;     // block_size for each; blocks without tokens are left out
  uint32_t block_size = 0;
};

// A block in the book of a worker.
struct BookedBlock {
  uint64_t engine_hash;
  uint64_t prefix_hash;
  uint32_t last_use;
};

struct Overlap {
  uint32_t slot;
  uint32_t blocks;  // consecutive, from the first
};

// Room for a search and what it found; kept by the caller so that a search does not allocate.
struct IndexSearch {
  SlotBits best;                 // the workers with the most leading blocks
  uint32_t blocks = 0;           // how many; 0: nobody has the first
  std::vector<Overlap> shorter;  // all others that have the first, if asked for
  SlotBits next;
};

// Times are whole seconds of the host's monotonic clock.
class PositionalIndex {
 public:
  static constexpr std::size_t kJump = 64;

  explicit PositionalIndex(const Tenants& tenants) : tenants_(tenants) {}

  // [bus] A duplicate changes nothing. With a parent that is not known, the blocks count as the
  // beginning of a prompt.
  void stored(Tenant worker, const StoredBlocks& blocks, uint32_t now);
  // [bus] Deeper blocks stay; without this one nobody finds them.
  void removed(Tenant worker, std::span<const uint64_t> engine_hashes);
  // [bus] All that the worker holds.
  void cleared(Tenant worker);
  // [control] No trace stays. REQUIRES: the worker is no longer alive.
  void forget(Tenant worker);

  // [any] All blocks of a worker, for another index. Holds up the writers, not find().
  std::vector<BookedBlock> blocks_of(Tenant worker) const;
  // [any] Adds what blocks_of() gave. No effect if this index has blocks of another size.
  void restore(Tenant worker, uint32_t block_size, std::span<const BookedBlock> blocks);

  // Of the workers `among`, those with the longest common beginning with `chain`; all others too
  // if `all`. Marks what it looks at as used.
  void find(std::span<const uint64_t> chain, const SlotBits& among, bool all, uint32_t now,
            IndexSearch& search) const;

  // Drops blocks not used for `ttl` seconds, then, with more than `max_entries`, the longest unused
  // until a tenth is free, but none used within 2 s. 0: no such limit. Returns the blocks dropped.
  uint64_t prune(uint32_t now, uint32_t ttl, uint64_t max_entries);

  uint64_t size() const { return size_.load(std::memory_order_relaxed); }  // memberships
  uint64_t entries() const { return entries_.load(std::memory_order_relaxed); }
  uint32_t block_size() const { return block_size_.load(std::memory_order_relaxed); }

  // For tests: walks everything.
  struct Count {
    uint64_t entries = 0;
    uint64_t memberships = 0;
    uint64_t handles = 0;  // engine hashes in the books of all workers
  };
  Count recount() const;
  bool has_trace(uint32_t slot) const;

 private:
  struct Entry {
    mutable std::atomic<uint32_t> last_touch{0};
    WorkerSet workers;
  };
  struct Identity {
    std::size_t operator()(uint64_t hash) const { return hash; }
  };
  struct alignas(64) Shard {
    mutable std::shared_mutex mutex;
    std::unordered_map<uint64_t, Entry, Identity> entries;  // by prefix hash
  };
  using Handles = std::unordered_map<uint64_t, uint64_t>;  // engine hash to prefix hash
  static constexpr std::size_t kShards = 256;

  Shard& shard(Shard* shards, uint64_t prefix) const { return shards[prefix % kShards]; }
  bool narrow(Shard* shards, uint64_t prefix, const SlotBits& among, uint32_t now,
              SlotBits& both) const;
  bool holds(uint64_t prefix, uint32_t slot) const;
  void prepare(uint32_t block_size);
  void book(Handles& handles, uint64_t engine_hash, uint64_t prefix, uint32_t slot, uint32_t now);
  void attach(uint64_t prefix, uint32_t slot, uint32_t now);
  void detach(uint64_t prefix, uint32_t slot);
  void detach_all(uint32_t slot);
  void drop(Shard& from, decltype(Shard::entries)::iterator entry);
  uint64_t prune_unused(uint32_t now, uint32_t ttl, std::unordered_set<uint64_t>& dropped);
  uint64_t prune_excess(uint32_t now, uint64_t max_entries, std::unordered_set<uint64_t>& dropped);
  void forget_handles(const std::unordered_set<uint64_t>& dropped);

  const Tenants& tenants_;
  mutable std::mutex write_mutex_;
  std::unordered_map<uint32_t, Handles> handles_;  // by slot
  std::unique_ptr<Shard[]> owned_;
  std::atomic<Shard*> shards_{nullptr};
  std::atomic<uint64_t> size_{0};
  std::atomic<uint64_t> entries_{0};
  std::atomic<uint32_t> block_size_{0};
};

}  // namespace cache_aware
