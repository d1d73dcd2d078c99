// Which routing keys the requests that run on a worker have, and how many of each.
//
// How many keys differ is shown in a gauge and in the live block, where policies read it. Any
// thread; only requests with a key come here.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "host/metrics/metrics.hpp"

namespace smg {

class ActiveKeys {
 public:
  // `distinct`: where policies read how many keys differ.
  explicit ActiveKeys(std::uint32_t& distinct) : distinct_(distinct) {}

  // From now on it is shown.
  void show_in(Series gauge) {
    const std::lock_guard lock(mutex_);
    gauge_ = gauge;
    show();
  }
  void enter(std::uint64_t key_hash) {
    const std::lock_guard lock(mutex_);
    if (++running_[key_hash] == 1) show();
  }
  void leave(std::uint64_t key_hash) {
    const std::lock_guard lock(mutex_);
    const auto found = running_.find(key_hash);
    if (found == running_.end() || --found->second > 0) return;
    running_.erase(found);
    show();
  }
  std::uint32_t running(std::uint64_t key_hash) {
    const std::lock_guard lock(mutex_);
    const auto found = running_.find(key_hash);
    return found == running_.end() ? 0 : found->second;
  }

 private:
  // Under the lock, so that changes cannot be shown out of order.
  void show() {
    __atomic_store_n(&distinct_, static_cast<std::uint32_t>(running_.size()), __ATOMIC_RELAXED);
    if (gauge_) gauge_.set(static_cast<double>(running_.size()));
  }

  std::uint32_t& distinct_;
  Series gauge_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint32_t> running_;
};

}  // namespace smg
