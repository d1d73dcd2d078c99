// Rotations, one for each set of workers: where in the set the next request goes.
//
// One counter for all would alias: two pools that take turns would each see every second worker
// only. A set is known by a hash of its members' URLs in order, so a worker that returns brings the
// old rotation back. At most kMaxSets are kept; the least recently used makes room. Memory of a
// rotation is reused but never freed, so whoever holds one may look at it at any time: is() tells
// whether it still is the same one. On any thread; find() takes a lock and is for the rare case
// that a set has changed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "smg/cpp/handover.hpp"

namespace round_robin {

class Rotation {
 public:
  bool is(uint64_t set) const { return set_.load(std::memory_order_relaxed) == set; }

  // The next number of the rotation. `tick` is Rotations::tick(): what "recently used" is measured
  // in. If the rotation is given to another set between is() and here, that one skips a worker
  // once.
  uint64_t next(uint64_t tick) {
    if (last_used_.load(std::memory_order_relaxed) != tick) {
      last_used_.store(tick, std::memory_order_relaxed);
    }
    return next_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  friend class Rotations;
  alignas(64) std::atomic<uint64_t> next_{0};
  std::atomic<uint64_t> last_used_{0};
  std::atomic<uint64_t> set_{0};
};

class Rotations {
 public:
  static constexpr std::size_t kMaxSets = 4096;

  // Counts look-ups, not requests: between two of them all uses are equally recent.
  uint64_t tick() const { return tick_.load(std::memory_order_relaxed); }

  // The rotation of that set, a new one if it is not known. A new one starts one further than the
  // one before it, so that many small sets do not all begin with their first worker.
  Rotation& find(uint64_t set) {
    const std::lock_guard lock(mutex_);
    const uint64_t now = tick_.fetch_add(1, std::memory_order_relaxed) + 1;
    const auto known = by_set_.find(set);
    Rotation& rotation = known != by_set_.end() ? *known->second : add(set);
    rotation.last_used_.store(now, std::memory_order_relaxed);
    return rotation;
  }

  // State: where the next new rotation starts, number of sets, for each set its hash and its next
  // number, the least recently used first.
  void export_state(smg::StateWriter& writer) const {
    struct Turn {
      uint64_t last_used, set, next;
    };
    std::vector<Turn> turns;
    uint64_t next_start = 0;
    {
      const std::lock_guard lock(mutex_);
      next_start = next_start_;
      for (const Rotation& rotation : rotations_) {
        turns.push_back({rotation.last_used_.load(std::memory_order_relaxed),
                         rotation.set_.load(std::memory_order_relaxed),
                         rotation.next_.load(std::memory_order_relaxed)});
      }
    }
    std::sort(turns.begin(), turns.end(),
              [](const Turn& a, const Turn& b) { return a.last_used < b.last_used; });
    writer.number(next_start);
    writer.number(turns.size());
    for (const Turn& turn : turns) {
      writer.word(turn.set);
      writer.number(turn.next);
    }
  }

  // Throws smg::Error, and then has changed nothing.
  void import_state(smg::StateReader reader) {
    constexpr std::size_t kLeastBytes = 9;
    const uint64_t next_start = reader.number();
    std::vector<std::pair<uint64_t, uint64_t>> turns(reader.count(kLeastBytes));
    for (auto& [set, next] : turns) {
      set = reader.word();
      next = reader.number();
    }
    reader.end();
    for (const auto& [set, next] : turns) find(set).next_.store(next, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    next_start_ = next_start;
  }

 private:
  Rotation& add(uint64_t set) {
    Rotation& rotation = rotations_.size() < kMaxSets ? rotations_.emplace_back() : evict();
    by_set_[set] = &rotation;
    rotation.next_.store(next_start_++, std::memory_order_relaxed);
    rotation.set_.store(set, std::memory_order_relaxed);
    return rotation;
  }

  Rotation& evict() {
    Rotation* oldest = &rotations_.front();
    for (Rotation& rotation : rotations_) {
      if (rotation.last_used_.load(std::memory_order_relaxed) <
          oldest->last_used_.load(std::memory_order_relaxed)) {
        oldest = &rotation;
      }
    }
    by_set_.erase(oldest->set_.load(std::memory_order_relaxed));
    return *oldest;
  }

  mutable std::mutex mutex_;
  std::deque<Rotation> rotations_;
  std::unordered_map<uint64_t, Rotation*> by_set_;
  uint64_t next_start_ = 0;
  alignas(64) std::atomic<uint64_t> tick_{0};
};

}  // namespace round_robin
