#include "positional_index.hpp"

#include <algorithm>
#include <utility>

#include "hashes.hpp"

namespace cache_aware {

void PositionalIndex::stored(Tenant worker, const StoredBlocks& blocks, uint32_t now) {
  if (blocks.block_size == 0) return;
  const std::lock_guard lock(write_mutex_);
  if (!tenants_.alive(worker)) return;
  prepare(blocks.block_size);
  Handles& handles = handles_[worker.slot];
  std::optional<uint64_t> before;
  if (blocks.parent) {
    const auto parent = handles.find(*blocks.parent);
    if (parent != handles.end()) before = parent->second;
  }
  const std::size_t count =
      std::min(blocks.engine_hashes.size(), blocks.tokens.size() / blocks.block_size);
  for (std::size_t i = 0; i < count; ++i) {
    const uint64_t content =
        content_hash(blocks.tokens.subspan(i * blocks.block_size, blocks.block_size));
    const uint64_t prefix = before ? prefix_hash(*before, content) : content;
    before = prefix;
    book(handles, blocks.engine_hashes[i], prefix, worker.slot, now);
  }
}

std::vector<BookedBlock> PositionalIndex::blocks_of(Tenant worker) const {
  std::vector<BookedBlock> blocks;
  const std::lock_guard lock(write_mutex_);
  const auto book = handles_.find(worker.slot);
  if (book == handles_.end() || !tenants_.alive(worker)) return blocks;
  blocks.reserve(book->second.size());
  for (const auto& [engine_hash, prefix] : book->second) {
    const Shard& home = shard(owned_.get(), prefix);
    const std::shared_lock reading(home.mutex);
    const auto entry = home.entries.find(prefix);
    if (entry == home.entries.end()) continue;
    blocks.push_back(
        {engine_hash, prefix, entry->second.last_touch.load(std::memory_order_relaxed)});
  }
  return blocks;
}

void PositionalIndex::restore(Tenant worker, uint32_t block_size,
                              std::span<const BookedBlock> blocks) {
  if (block_size == 0 || blocks.empty()) return;
  const std::lock_guard lock(write_mutex_);
  if (!tenants_.alive(worker)) return;
  if (size() > 0 && this->block_size() != block_size) return;
  prepare(block_size);
  Handles& handles = handles_[worker.slot];
  for (const BookedBlock& each : blocks) {
    book(handles, each.engine_hash, each.prefix_hash, worker.slot, each.last_use);
  }
}

void PositionalIndex::removed(Tenant worker, std::span<const uint64_t> engine_hashes) {
  const std::lock_guard lock(write_mutex_);
  const auto book = handles_.find(worker.slot);
  if (book == handles_.end() || !tenants_.alive(worker)) return;
  for (const uint64_t hash : engine_hashes) {
    const auto handle = book->second.find(hash);
    if (handle == book->second.end()) continue;
    detach(handle->second, worker.slot);
    book->second.erase(handle);
  }
}

void PositionalIndex::cleared(Tenant worker) {
  const std::lock_guard lock(write_mutex_);
  if (tenants_.alive(worker)) detach_all(worker.slot);
}

void PositionalIndex::forget(Tenant worker) {
  const std::lock_guard lock(write_mutex_);
  detach_all(worker.slot);
}

void PositionalIndex::detach_all(uint32_t slot) {
  const auto book = handles_.find(slot);
  if (book == handles_.end()) return;
  for (const auto& [hash, prefix] : book->second) detach(prefix, slot);
  handles_.erase(book);
}

void PositionalIndex::prepare(uint32_t block_size) {
  if (owned_ == nullptr) {
    owned_ = std::make_unique<Shard[]>(kShards);
    shards_.store(owned_.get(), std::memory_order_release);
  }
  block_size_.store(block_size, std::memory_order_relaxed);
}

void PositionalIndex::book(Handles& handles, uint64_t engine_hash, uint64_t prefix, uint32_t slot,
                           uint32_t now) {
  const auto [handle, fresh] = handles.try_emplace(engine_hash, prefix);
  if (!fresh && handle->second != prefix) detach(std::exchange(handle->second, prefix), slot);
  attach(prefix, slot, now);
}

void PositionalIndex::attach(uint64_t prefix, uint32_t slot, uint32_t now) {
  Shard& home = shard(owned_.get(), prefix);
  const std::lock_guard lock(home.mutex);
  const auto [entry, fresh] = home.entries.try_emplace(prefix);
  if (fresh) entries_.fetch_add(1, std::memory_order_relaxed);
  entry->second.last_touch.store(now, std::memory_order_relaxed);
  if (entry->second.workers.insert(slot)) size_.fetch_add(1, std::memory_order_relaxed);
}

void PositionalIndex::detach(uint64_t prefix, uint32_t slot) {
  Shard& home = shard(owned_.get(), prefix);
  const std::lock_guard lock(home.mutex);
  const auto entry = home.entries.find(prefix);
  if (entry == home.entries.end() || !entry->second.workers.erase(slot)) return;
  size_.fetch_sub(1, std::memory_order_relaxed);
  if (entry->second.workers.size() == 0) drop(home, entry);
}

void PositionalIndex::drop(Shard& from, decltype(Shard::entries)::iterator entry) {
  size_.fetch_sub(entry->second.workers.size(), std::memory_order_relaxed);
  entries_.fetch_sub(1, std::memory_order_relaxed);
  from.entries.erase(entry);
}

bool PositionalIndex::narrow(Shard* shards, uint64_t prefix, const SlotBits& among, uint32_t now,
                             SlotBits& both) const {
  const Shard& home = shard(shards, prefix);
  const std::shared_lock lock(home.mutex);
  const auto entry = home.entries.find(prefix);
  if (entry == home.entries.end()) return false;
  if (entry->second.last_touch.load(std::memory_order_relaxed) < now) {
    entry->second.last_touch.store(now, std::memory_order_relaxed);
  }
  entry->second.workers.intersect(among, both);
  return both.any();
}

void PositionalIndex::find(std::span<const uint64_t> chain, const SlotBits& among, bool all,
                           uint32_t now, IndexSearch& search) const {
  search.blocks = 0;
  search.shorter.clear();
  Shard* const shards = shards_.load(std::memory_order_acquire);
  if (shards == nullptr || chain.empty()) return;
  SlotBits& best = search.best;
  SlotBits& next = search.next;
  if (!narrow(shards, chain[0], among, now, best)) return;
  std::size_t at = 0;  // `best` hold chain[0..at]
  const std::size_t last = chain.size() - 1;
  search.blocks = 1;
  while (at < last) {
    const std::size_t landing = std::min(at + kJump, last);
    const bool reached = narrow(shards, chain[landing], best, now, next);
    if (reached && (!all || next == best)) {
      std::swap(best, next);
      at = landing;
      search.blocks = static_cast<uint32_t>(at + 1);
      continue;
    }
    if (!all) {
      // Nobody goes on to the landing: how far the last of them goes.
      for (std::size_t end = landing; end - at > 1;) {
        const std::size_t middle = at + (end - at) / 2;
        if (narrow(shards, chain[middle], best, now, next)) {
          std::swap(best, next);
          at = middle;
        } else {
          end = middle;
        }
      }
      search.blocks = static_cast<uint32_t>(at + 1);
      return;
    }
    for (; at < landing; ++at) {
      if (!narrow(shards, chain[at + 1], best, now, next)) return;
      if (all && next != best) {
        best.for_each([&](uint32_t slot) {
          if (!next.contains(slot)) {
            search.shorter.push_back({slot, static_cast<uint32_t>(at + 1)});
          }
        });
      }
      std::swap(best, next);
      search.blocks = static_cast<uint32_t>(at + 2);
    }
  }
}

uint64_t PositionalIndex::prune(uint32_t now, uint32_t ttl, uint64_t max_entries) {
  if (shards_.load(std::memory_order_acquire) == nullptr) return 0;
  std::unordered_set<uint64_t> dropped;
  uint64_t count = 0;
  if (ttl > 0) count += prune_unused(now, ttl, dropped);
  if (max_entries > 0) count += prune_excess(now, max_entries, dropped);
  if (count > 0) forget_handles(dropped);
  return count;
}

uint64_t PositionalIndex::prune_unused(uint32_t now, uint32_t ttl,
                                       std::unordered_set<uint64_t>& dropped) {
  if (now <= ttl) return 0;
  uint64_t count = 0;
  for (std::size_t i = 0; i < kShards; ++i) {
    const std::lock_guard writers(write_mutex_);
    Shard& home = owned_[i];
    const std::lock_guard lock(home.mutex);
    for (auto entry = home.entries.begin(); entry != home.entries.end();) {
      const auto here = entry++;
      if (here->second.last_touch.load(std::memory_order_relaxed) >= now - ttl) continue;
      dropped.insert(here->first);
      drop(home, here);
      ++count;
    }
  }
  return count;
}

uint64_t PositionalIndex::prune_excess(uint32_t now, uint64_t max_entries,
                                       std::unordered_set<uint64_t>& dropped) {
  constexpr uint32_t kSpared = 2;  // seconds
  if (entries() <= max_entries) return 0;
  std::vector<std::pair<uint32_t, uint64_t>> by_use;
  Shard* const shards = shards_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < kShards; ++i) {
    const std::shared_lock lock(shards[i].mutex);
    for (const auto& [prefix, entry] : shards[i].entries) {
      const uint32_t touch = entry.last_touch.load(std::memory_order_relaxed);
      if (touch + kSpared < now) by_use.emplace_back(touch, prefix);
    }
  }
  const uint64_t keep = max_entries - max_entries / 10;
  const uint64_t present = entries();
  const std::size_t excess =
      std::min<std::size_t>(by_use.size(), present > keep ? present - keep : 0);
  std::nth_element(by_use.begin(), by_use.begin() + static_cast<std::ptrdiff_t>(excess),
                   by_use.end());
  uint64_t count = 0;
  for (std::size_t i = 0; i < excess; ++i) {
    const auto [touch, prefix] = by_use[i];
    const std::lock_guard writers(write_mutex_);
    Shard& home = shard(shards, prefix);
    const std::lock_guard lock(home.mutex);
    const auto entry = home.entries.find(prefix);
    if (entry == home.entries.end()) continue;
    if (entry->second.last_touch.load(std::memory_order_relaxed) != touch) continue;  // used since
    dropped.insert(prefix);
    drop(home, entry);
    ++count;
  }
  return count;
}

// A dropped block may have been stored again meanwhile, so what counts is whether it is there.
void PositionalIndex::forget_handles(const std::unordered_set<uint64_t>& dropped) {
  std::vector<uint32_t> slots;
  {
    const std::lock_guard lock(write_mutex_);
    for (const auto& [slot, book] : handles_) slots.push_back(slot);
  }
  for (const uint32_t slot : slots) {
    const std::lock_guard lock(write_mutex_);
    const auto book = handles_.find(slot);
    if (book == handles_.end()) continue;
    std::erase_if(book->second, [&](const auto& handle) {
      return dropped.contains(handle.second) && !holds(handle.second, slot);
    });
    if (book->second.empty()) handles_.erase(book);
  }
}

bool PositionalIndex::holds(uint64_t prefix, uint32_t slot) const {
  const Shard& home = shard(owned_.get(), prefix);
  const std::shared_lock lock(home.mutex);
  const auto entry = home.entries.find(prefix);
  return entry != home.entries.end() && entry->second.workers.contains(slot);
}

PositionalIndex::Count PositionalIndex::recount() const {
  const std::lock_guard writers(write_mutex_);
  Count count;
  for (const auto& [slot, book] : handles_) count.handles += book.size();
  for (std::size_t i = 0; owned_ != nullptr && i < kShards; ++i) {
    const std::shared_lock lock(owned_[i].mutex);
    count.entries += owned_[i].entries.size();
    for (const auto& [prefix, entry] : owned_[i].entries) {
      count.memberships += entry.workers.size();
    }
  }
  return count;
}

bool PositionalIndex::has_trace(uint32_t slot) const {
  const std::lock_guard writers(write_mutex_);
  if (handles_.contains(slot)) return true;
  for (std::size_t i = 0; owned_ != nullptr && i < kShards; ++i) {
    const std::shared_lock lock(owned_[i].mutex);
    for (const auto& [prefix, entry] : owned_[i].entries) {
      if (entry.workers.contains(slot)) return true;
    }
  }
  return false;
}

}  // namespace cache_aware
