#include "placement.hpp"

#include <algorithm>

namespace cache_aware {

Holders Placement::find(const PlacementKey& key, uint64_t now) const {
  Holders found;
  const Shard& home = shards_[home_of(key)];
  const std::lock_guard lock(home.mutex);
  const auto entry = home.entries.find(key);
  if (entry == home.entries.end()) return found;
  for (uint32_t i = 0; i < entry->second.count; ++i) {
    const Holder& holder = entry->second.holders[i];
    if (!dead(holder, now)) found.tenants[found.count++] = holder.worker;
  }
  return found;
}

void Placement::record(const PlacementKey& key, Tenant worker, uint64_t now) {
  Shard& home = shards_[home_of(key)];
  const std::lock_guard lock(home.mutex);
  // Under the lock: forget() comes here after the worker has left.
  if (!tenants_.alive(worker)) return;
  auto place = home.entries.find(key);
  if (place == home.entries.end()) {
    if (home.entries.size() >= shard_limit_) make_room(home);
    place = home.entries.try_emplace(key).first;
    size_.fetch_add(1, std::memory_order_relaxed);
  }
  Entry& entry = place->second;
  remove_holders(entry, [&](const Holder& holder) { return dead(holder, now); });
  const auto end = entry.holders.begin() + entry.count;
  auto holder = std::find_if(entry.holders.begin(), end,
                             [&](const Holder& each) { return each.worker == worker; });
  if (holder == end && entry.count == Holders::kMax) {
    holder = std::min_element(entry.holders.begin(), end, [](const Holder& a, const Holder& b) {
      return a.last_use < b.last_use;
    });
  } else if (holder == end) {
    ++entry.count;
  }
  *holder = {worker, now};
}

void Placement::forget(Tenant worker) {
  remove_everywhere([&](const Holder& holder) { return holder.worker == worker; });
}

void Placement::sweep(uint64_t now) {
  remove_everywhere([&](const Holder& holder) { return dead(holder, now); });
}

void Placement::clear() {
  remove_everywhere([](const Holder&) { return true; });
}

template <class Goes>
void Placement::remove_holders(Entry& entry, Goes goes) {
  const auto end = entry.holders.begin() + entry.count;
  entry.count = static_cast<uint32_t>(std::remove_if(entry.holders.begin(), end, goes) -
                                      entry.holders.begin());
}

template <class Goes>
void Placement::remove_everywhere(Goes goes) {
  for (Shard& each : shards_) {
    const std::lock_guard lock(each.mutex);
    for (auto place = each.entries.begin(); place != each.entries.end();) {
      remove_holders(place->second, goes);
      if (place->second.count > 0) {
        ++place;
      } else {
        place = each.entries.erase(place);
        size_.fetch_sub(1, std::memory_order_relaxed);
      }
    }
  }
}

void Placement::make_room(Shard& full) {
  const std::size_t buckets = full.entries.bucket_count();
  while (full.entries.bucket_size(full.hand % buckets) == 0) ++full.hand;
  const PlacementKey key = full.entries.begin(full.hand % buckets)->first;
  full.entries.erase(key);
  ++full.hand;
  size_.fetch_sub(1, std::memory_order_relaxed);
}

std::size_t Placement::recount() const {
  std::size_t count = 0;
  for (const Shard& each : shards_) {
    const std::lock_guard lock(each.mutex);
    count += each.entries.size();
  }
  return count;
}

bool Placement::has_trace(uint32_t slot) const {
  for (const Shard& each : shards_) {
    const std::lock_guard lock(each.mutex);
    for (const auto& [key, entry] : each.entries) {
      for (uint32_t i = 0; i < entry.count; ++i) {
        if (entry.holders[i].worker.slot == slot) return true;
      }
    }
  }
  return false;
}

}  // namespace cache_aware
