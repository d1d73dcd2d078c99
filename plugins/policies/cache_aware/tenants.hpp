// The workers that a model's books may name, each as a tenant: its slot, and a generation that no
// worker of that slot had before.
//
// Books (placement map, positional index) refuse a tenant that is not alive, so a request that was
// decided on an older pool cannot bring a removed worker back, nor be booked on its successor.
// add() and remove() on the control thread; all others on any, alive() without a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenant.hpp"

namespace cache_aware {

using smg::prefix_tree::Tenant;

class Tenants {
 public:
  // Workers in higher slots are none of ours: they are chosen by load only.
  static constexpr uint32_t kMaxSlots = 1u << 20;

  // [control] A new tenant; generation 0 if the slot is too high. REQUIRES: nobody has the slot.
  Tenant add(uint32_t slot, std::string_view url) {
    if (slot >= kMaxSlots) return {};
    std::unique_ptr<Chunk>& chunk = owned_[slot / kChunk];
    if (chunk == nullptr) {
      chunk = std::make_unique<Chunk>();
      chunks_[slot / kChunk].store(chunk.get(), std::memory_order_release);
    }
    if (++last_generation_ == 0) ++last_generation_;
    const Tenant tenant{slot, last_generation_};
    (*chunk)[slot % kChunk].store(tenant.generation, std::memory_order_release);
    const std::lock_guard lock(mutex_);
    by_url_.insert_or_assign(std::string(url), tenant);
    return tenant;
  }

  // [control] From here on alive() says no.
  void remove(Tenant tenant, std::string_view url) {
    if (!alive(tenant)) return;
    (*owned_[tenant.slot / kChunk])[tenant.slot % kChunk].store(0, std::memory_order_release);
    const std::lock_guard lock(mutex_);
    by_url_.erase(std::string(url));
  }

  bool alive(Tenant tenant) const {
    if (tenant.generation == 0 || tenant.slot >= kMaxSlots) return false;
    const Chunk* chunk = chunks_[tenant.slot / kChunk].load(std::memory_order_acquire);
    return chunk != nullptr &&
           (*chunk)[tenant.slot % kChunk].load(std::memory_order_acquire) == tenant.generation;
  }

  // All there are, by URL.
  std::vector<std::pair<std::string, Tenant>> all() const {
    const std::lock_guard lock(mutex_);
    return {by_url_.begin(), by_url_.end()};
  }

  std::optional<Tenant> find(std::string_view url) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_url_.find(std::string(url));
    if (found == by_url_.end()) return std::nullopt;
    return found->second;
  }

 private:
  static constexpr uint32_t kChunk = 1024;
  using Chunk = std::array<std::atomic<uint32_t>, kChunk>;  // generations, 0: nobody

  std::array<std::atomic<Chunk*>, kMaxSlots / kChunk> chunks_{};
  std::array<std::unique_ptr<Chunk>, kMaxSlots / kChunk> owned_;
  uint32_t last_generation_ = 0;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Tenant> by_url_;
};

}  // namespace cache_aware
