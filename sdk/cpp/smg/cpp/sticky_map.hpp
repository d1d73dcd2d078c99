// Which workers a routing key stays with: keys to the URLs of one or two workers.
//
//   smg::StickyMap map;
//   map.update({.model = pool.model(), .leg = request.leg(), .key = request.routing_key()},
//              request.now(), [&](smg::Pins& pins) { pins.push_front(url); });
//
// A key is scoped by model and leg. The map is split into shards by hash, each with a lock of its
// own, and a call-back runs under the lock of its key: concurrent first requests of one key agree.
// Each shard keeps its entries in order of use, so the least recently used one goes first, whether
// it has been idle for too long (evict_idle) or the shard is full.
//
// The number of entries has a hard bound, 1 Mi by default, divided evenly among the shards. An
// entry takes about 430 bytes with a key of 40 bytes, so a full map takes about 450 MB. Owned by
// whoever makes it. Every function may be called on any thread; call-backs must not call back into
// the map. Times are monotonic nanoseconds and come from the caller.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "smg/cpp/handover.hpp"
#include "smg/policy.h"

namespace smg {

struct StickyKey {
  std::string_view model;  // canonical id
  uint32_t leg = SMG_LEG_SINGLE;
  std::string_view key;
  friend bool operator==(const StickyKey&, const StickyKey&) = default;
};

// At most two URLs, in the order in which they are tried.
class Pins {
 public:
  static constexpr std::size_t kMax = 2;

  std::size_t size() const { return static_cast<std::size_t>(count_); }
  bool empty() const { return count_ == 0; }
  // REQUIRES: i < size().
  std::string_view operator[](std::size_t i) const { return urls_[i]; }

  // Puts the URL first; the one that was last falls off if there are too many. One that is known
  // moves to the front.
  void push_front(std::string_view url) {
    auto place = find(url);
    if (place == end()) place = size() < kMax ? urls_.begin() + count_++ : end() - 1;
    std::rotate(urls_.begin(), place, place + 1);
    urls_[0] = url;
  }
  // Puts the URL last; the first one goes if there are too many. One that is known moves to the
  // end.
  void append(std::string_view url) {
    auto place = find(url);
    if (place == end()) place = size() < kMax ? urls_.begin() + count_++ : urls_.begin();
    std::rotate(place, place + 1, end());
    urls_[size() - 1] = url;
  }

 private:
  using Urls = std::array<std::string, kMax>;
  Urls::iterator end() { return urls_.begin() + count_; }
  Urls::iterator find(std::string_view url) { return std::find(urls_.begin(), end(), url); }

  Urls urls_;
  std::ptrdiff_t count_ = 0;
};

class StickyMap {
 public:
  static constexpr std::size_t kMaxEntries = std::size_t{1} << 20;
  static constexpr std::size_t kShards = 128;

  // REQUIRES: max_entries > 0, shards > 0.
  explicit StickyMap(std::size_t max_entries = kMaxEntries, std::size_t shards = kShards)
      : shards_(std::min(shards, max_entries)), max_per_shard_(max_entries / shards_.size()) {}

  std::size_t size() const { return size_.load(std::memory_order_relaxed); }

  // If the key is known, marks it as used at `now` and calls body(const Pins&). Whether it was.
  template <class Body>
  bool visit(const StickyKey& key, uint64_t now, Body&& body) {
    const Hashed hashed(key);
    Shard& shard = shard_of(hashed);
    const std::lock_guard lock(shard.mutex);
    Entry* const entry = shard.use(hashed, now);
    if (entry != nullptr) body(std::as_const(entry->pins));
    return entry != nullptr;
  }

  // Calls body(Pins&) with the key's pins, none if it is not known, and keeps what `body` makes of
  // them. A known key is marked as used at `now`. A new one is kept only if `body` pinned it.
  template <class Body>
  void update(const StickyKey& key, uint64_t now, Body&& body) {
    const Hashed hashed(key);
    Shard& shard = shard_of(hashed);
    const std::lock_guard lock(shard.mutex);
    if (Entry* const entry = shard.use(hashed, now)) {
      body(entry->pins);
      return;
    }
    Pins pins;
    body(pins);
    if (pins.empty()) return;
    if (shard.entries.size() >= max_per_shard_) {
      shard.drop_oldest();
    } else {
      size_.fetch_add(1, std::memory_order_relaxed);
    }
    shard.add(hashed, now, std::move(pins));
  }

  // Removes keys that were not used for `max_idle` or longer, at most `at_most` of them. Returns
  // how many went: if as many as allowed, there may be more. Costs nothing for those that stay.
  std::size_t evict_idle(uint64_t now, uint64_t max_idle, std::size_t at_most) {
    std::size_t gone = 0;
    for (Shard& shard : shards_) {
      if (gone == at_most) break;
      const std::lock_guard lock(shard.mutex);
      while (gone < at_most && !shard.entries.empty() &&
             shard.entries.back().idle(now) >= max_idle) {
        shard.drop_oldest();
        ++gone;
      }
    }
    size_.fetch_sub(gone, std::memory_order_relaxed);
    return gone;
  }

  // Writes all keys as state (smg/cpp/handover.hpp). Each shard is locked for a few at a time, so
  // what changes meanwhile may be in it or not.
  void export_state(StateWriter& writer, uint64_t now) const {
    for (const Shard& shard : shards_) {
      for (auto some = shard.some(nullptr); !some.empty(); some = shard.some(&some.back())) {
        for (const Kept& each : some) each.write(writer, now);
      }
    }
    writer.number(0);
  }

  // Adds what export_state() wrote as the last part of a state; what has no room here are the least
  // recently used. Throws smg::Error if the state is damaged, and then has changed nothing.
  void import_state(StateReader& reader, uint64_t now) {
    std::vector<Found> all;
    while (const uint64_t pins = reader.number(Pins::kMax)) {
      Found& found = all.emplace_back();
      found.last_access = now - std::min(reader.number(), now);
      found.key.model = reader.text();
      found.key.leg = static_cast<uint32_t>(reader.number(UINT32_MAX));
      found.key.key = reader.text();
      for (uint64_t i = 0; i < pins; ++i) found.urls[i] = reader.text();
      found.pins = pins;
    }
    reader.end();
    std::stable_sort(all.begin(), all.end(),
                     [](const Found& a, const Found& b) { return a.last_access < b.last_access; });
    for (const Found& found : all) {
      update(found.key, found.last_access, [&](Pins& pins) {
        for (uint64_t i = 0; i < found.pins; ++i) pins.append(found.urls[i]);
      });
    }
  }

 private:
  struct Hashed : StickyKey {
    explicit Hashed(const StickyKey& parts) : StickyKey(parts) {
      const std::hash<std::string_view> hash;
      value = (hash(parts.model) + parts.leg) * 0x9e3779b97f4a7c15u ^ hash(parts.key);
    }
    std::size_t value;
  };
  // By hash, then by the key itself: keys that were made to have the same hash are found as fast
  // as any.
  struct Before {
    bool operator()(const Hashed& a, const Hashed& b) const {
      return std::tie(a.value, a.leg, a.key, a.model) < std::tie(b.value, b.leg, b.key, b.model);
    }
  };

  struct Entry {
    uint64_t idle(uint64_t now) const { return now > last_access ? now - last_access : 0; }

    std::string text;  // what `key` refers to
    Hashed key;
    Pins pins;
    uint64_t last_access;
  };

  // Of an entry, outside of the lock.
  struct Kept {
    void write(StateWriter& writer, uint64_t now) const {
      writer.number(pins.size());
      writer.number(now - std::min(last_access, now));
      writer.text(model);
      writer.number(leg);
      writer.text(key);
      for (std::size_t i = 0; i < pins.size(); ++i) writer.text(pins[i]);
    }

    std::string model, key;
    uint32_t leg;
    Pins pins;
    uint64_t last_access;
  };

  // In a state.
  struct Found {
    StickyKey key;
    std::array<std::string_view, Pins::kMax> urls;
    uint64_t pins = 0;
    uint64_t last_access = 0;
  };

  struct alignas(64) Shard {
    // The first few entries, or those that come after one, in an order that use does not change.
    std::vector<Kept> some(const Kept* before) const {
      constexpr std::size_t kSome = 128;
      std::vector<Kept> result;
      result.reserve(kSome);
      const std::lock_guard lock(mutex);
      auto next = before == nullptr
                      ? index.begin()
                      : index.upper_bound(Hashed({before->model, before->leg, before->key}));
      for (; next != index.end() && result.size() < kSome; ++next) {
        const Entry& entry = *next->second;
        result.push_back({std::string(entry.key.model), std::string(entry.key.key), entry.key.leg,
                          entry.pins, entry.last_access});
      }
      return result;
    }

    Entry* use(const Hashed& key, uint64_t now) {
      const auto known = index.find(key);
      if (known == index.end()) return nullptr;
      entries.splice(entries.begin(), entries, known->second);
      Entry& entry = entries.front();
      entry.last_access = std::max(entry.last_access, now);
      return &entry;
    }

    void add(const Hashed& key, uint64_t now, Pins pins) {
      std::string text;
      text.reserve(key.model.size() + key.key.size());
      text.append(key.model).append(key.key);
      Entry& entry = entries.emplace_front(Entry{std::move(text), key, std::move(pins), now});
      const std::string_view kept = entry.text;
      entry.key.model = kept.substr(0, key.model.size());
      entry.key.key = kept.substr(key.model.size());
      index.emplace(entry.key, entries.begin());
    }

    void drop_oldest() {
      index.erase(entries.back().key);
      entries.pop_back();
    }

    mutable std::mutex mutex;
    std::list<Entry> entries;  // most recently used first
    std::map<Hashed, std::list<Entry>::iterator, Before> index;
  };

  Shard& shard_of(const Hashed& key) { return shards_[(key.value >> 32) % shards_.size()]; }

  std::vector<Shard> shards_;
  std::size_t max_per_shard_;
  std::atomic<std::size_t> size_{0};
};

}  // namespace smg
