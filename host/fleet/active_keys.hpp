// Which routing keys the requests that run on a worker have, for a gauge of how many differ.
//
// Any thread; only requests with a key come here.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "host/metrics/metrics.hpp"

namespace smg {

class ActiveKeys {
 public:
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

 private:
  // Under the lock, so that changes cannot be shown out of order.
  void show() {
    if (gauge_) gauge_.set(static_cast<double>(running_.size()));
  }

  Series gauge_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint32_t> running_;
};

}  // namespace smg
