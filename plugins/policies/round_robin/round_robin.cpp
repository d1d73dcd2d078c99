// round_robin: eligible workers in turn. Each set of workers has a rotation of its own.
//
// One counter for all would alias: two models that take turns would each see every second worker
// only. A set is the ordered URLs of its members, so a worker that returns brings its old rotation
// back.
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "shared/eligible_cache.hpp"
#include "smg/cpp/policy.hpp"

namespace {

struct Rotation {
  explicit Rotation(uint64_t start) : next(start) {}
  alignas(64) std::atomic<uint64_t> next;
  uint64_t last_used = 0;  // guarded by the book's mutex
};

// The rotations by set, at most kMaxSets: the one that was not looked up for longest makes room.
class RotationBook {
 public:
  std::shared_ptr<Rotation> find(std::string key) {
    const std::lock_guard lock(mutex_);
    auto found = sets_.find(key);
    if (found == sets_.end()) {
      if (sets_.size() >= kMaxSets) evict();
      found = sets_.emplace(std::move(key), std::make_shared<Rotation>(next_start_++)).first;
    }
    found->second->last_used = ++tick_;
    return found->second;
  }

 private:
  static constexpr size_t kMaxSets = 4096;

  void evict() {
    auto oldest = sets_.end();
    for (auto at = sets_.begin(); at != sets_.end(); ++at) {
      if (at->second.use_count() > 1) continue;  // a loop rotates through it now
      if (oldest == sets_.end() || at->second->last_used < oldest->second->last_used) oldest = at;
    }
    if (oldest != sets_.end()) sets_.erase(oldest);
  }

  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Rotation>> sets_;
  uint64_t next_start_ = 0;
  uint64_t tick_ = 0;
};

class RoundRobinPolicy {
 public:
  explicit RoundRobinPolicy(const smg::Host& host)
      : cache_(host.raw(), host.require<smg_loop_service>(SMG_SERVICE_LOOP)) {}

  std::optional<uint32_t> select(const smg_policy_request&, const smg_pool& pool) {
    const auto renew = [this](const smg_pool* of, auto& entry) {
      std::string key;
      for (const uint32_t i : entry.indices) {
        key.append(of->workers[i]->url.data, of->workers[i]->url.size).push_back('\n');
      }
      entry.extra = entry.indices.empty() ? nullptr : book_.find(std::move(key));
    };
    return cache_.with(&pool, renew, [](const auto& entry) -> std::optional<uint32_t> {
      if (entry.indices.empty()) return std::nullopt;
      const uint64_t turn = entry.extra->next.fetch_add(1, std::memory_order_relaxed);
      return entry.indices[turn % entry.indices.size()];
    });
  }

 private:
  RotationBook book_;
  smg_policies::EligibleCache<std::shared_ptr<Rotation>> cache_;
};

}  // namespace

SMG_EXPORT_PLUGINS(smg::policy<RoundRobinPolicy>(
    "round_robin", "1.0", "smg", "eligible workers in turn, one rotation per set of workers"))
