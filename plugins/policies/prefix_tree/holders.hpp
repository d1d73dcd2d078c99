// The holders of a node: a list of tenants, each with the epoch of its last use and the number of
// the node's children that it holds too.
//
// Readers go through the list and set epochs without a lock; a holder that leaves while they do
// makes room for another, whose epoch they may then set instead. Adding and removing is the
// writer's. A list that is full is copied into a larger one and retired.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "tenant.hpp"

namespace smg::prefix_tree {

// A tenant in a word; 0 is nobody.
constexpr uint64_t word_of(Tenant tenant) {
  return uint64_t{tenant.generation} << 32 | tenant.slot;
}
constexpr Tenant tenant_of(uint64_t word) {
  return {static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32)};
}

struct Holder {
  std::atomic<uint64_t> tenant{0};
  std::atomic<uint64_t> epoch{0};
  std::atomic<uint32_t> children{0};

  void set(uint64_t who, uint64_t when, uint32_t children_held) {
    epoch.store(when, std::memory_order_relaxed);
    children.store(children_held, std::memory_order_relaxed);
    tenant.store(who, std::memory_order_release);
  }
  bool is_leaf() const { return children.load(std::memory_order_relaxed) == 0; }
};

class Holders {
 public:
  static constexpr std::size_t bytes(uint32_t capacity) {
    return sizeof(Holders) + capacity * sizeof(Holder);
  }
  static Holders* make(uint32_t capacity) {
    return new (::operator new(bytes(capacity))) Holders(capacity);
  }
  // The holders follow the header in memory. REQUIRES: bytes(capacity) at this place.
  explicit Holders(uint32_t capacity) : capacity_(capacity) {
    for (uint32_t i = 0; i < capacity; ++i) new (begin() + i) Holder;
  }

  Holder* begin() { return reinterpret_cast<Holder*>(this + 1); }
  // After the last place that was ever used; some before it may be empty.
  Holder* end() { return begin() + filled(); }
  uint32_t filled() const { return filled_.load(std::memory_order_acquire); }
  uint32_t capacity() const { return capacity_; }

  Holder* find(uint64_t tenant) {
    for (Holder& holder : *this) {
      if (holder.tenant.load(std::memory_order_acquire) == tenant) return &holder;
    }
    return nullptr;
  }

  // Writer. False if there is no room.
  bool add(uint64_t tenant, uint64_t epoch, uint32_t children) {
    if (Holder* empty = find(0)) {
      empty->set(tenant, epoch, children);
      return true;
    }
    const uint32_t last = filled_.load(std::memory_order_relaxed);
    if (last == capacity_) return false;
    (begin() + last)->set(tenant, epoch, children);
    filled_.store(last + 1, std::memory_order_release);
    return true;
  }

 private:
  const uint32_t capacity_;
  std::atomic<uint32_t> filled_{0};
};
static_assert(sizeof(Holders) % alignof(Holder) == 0);

}  // namespace smg::prefix_tree
