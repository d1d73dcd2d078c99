// A few children of a node by the hash of their first unit: an open-addressing table that readers
// search without a lock while the one writer changes it.
//
// A place gets its hash once; its node may be replaced and then removed, never set again. So a
// table without room is copied into a new one, sized by what is left, and retired.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace smg::prefix_tree {

struct Node;

// Aligned as the places, which follow it in memory.
class alignas(8) ChildTable {
 public:
  static constexpr uint32_t kLargest = 128;  // places
  static constexpr uint32_t kSmall = 4;      // up to here a table may be full

  static ChildTable* make(uint32_t capacity) {
    return new (::operator new(sizeof(ChildTable) + capacity * sizeof(Place))) ChildTable(capacity);
  }

  Node* find(uint64_t hash) const {
    const Place* place = search(hash);
    Node* node = place == nullptr ? nullptr : place->node.load(std::memory_order_acquire);
    return node == gone() ? nullptr : node;
  }

  // visit(hash, node)
  template <class Visit>
  void for_each(Visit visit) const {
    for (uint32_t i = 0; i < capacity_; ++i) {
      Node* node = places()[i].node.load(std::memory_order_acquire);
      if (node == nullptr || node == gone()) continue;
      visit(places()[i].hash.load(std::memory_order_relaxed), node);
    }
  }

  bool is_large() const { return capacity_ > kSmall; }

  // Writer from here on.
  uint32_t count() const { return count_; }
  bool has_room() const { return used_ < (capacity_ <= kSmall ? capacity_ : capacity_ / 4 * 3); }

  // REQUIRES: has_room(), the hash is not present.
  void add(uint64_t hash, Node* node) {
    uint32_t at = home(hash);
    while (places()[at].node.load(std::memory_order_relaxed) != nullptr) at = (at + 1) & mask();
    places()[at].hash.store(hash, std::memory_order_relaxed);
    places()[at].node.store(node, std::memory_order_release);
    ++used_;
    ++count_;
  }
  // REQUIRES: the hash is present.
  void replace(uint64_t hash, Node* node) {
    const_cast<Place*>(search(hash))->node.store(node, std::memory_order_release);
  }
  void remove(uint64_t hash) {
    replace(hash, gone());
    --count_;
  }

  // The capacity for what it holds and as much again.
  uint32_t wanted() const {
    uint32_t capacity = count_ < 2 ? 2 : kSmall;
    if (count_ >= kSmall) {
      while (capacity / 2 < count_ + 1) capacity *= 2;
    }
    return capacity;
  }

 private:
  struct Place {
    std::atomic<uint64_t> hash{0};
    std::atomic<Node*> node{nullptr};
  };

  explicit ChildTable(uint32_t capacity) : capacity_(capacity) {
    static_assert(sizeof(ChildTable) % alignof(Place) == 0);
    for (uint32_t i = 0; i < capacity; ++i) new (places() + i) Place;
  }

  static Node* gone() { return reinterpret_cast<Node*>(1); }
  Place* places() { return reinterpret_cast<Place*>(this + 1); }
  const Place* places() const { return reinterpret_cast<const Place*>(this + 1); }
  uint32_t mask() const { return capacity_ - 1; }
  // From the low bits: tables are told apart by the high ones.
  uint32_t home(uint64_t hash) const { return static_cast<uint32_t>(hash) & mask(); }

  const Place* search(uint64_t hash) const {
    uint32_t at = home(hash);
    for (uint32_t i = 0; i < capacity_; ++i, at = (at + 1) & mask()) {
      const Place& place = places()[at];
      const Node* node = place.node.load(std::memory_order_acquire);
      if (node == nullptr) return nullptr;
      if (node != gone() && place.hash.load(std::memory_order_relaxed) == hash) return &place;
    }
    return nullptr;
  }

  const uint32_t capacity_;  // a power of two
  uint32_t used_ = 0;        // with those that are gone
  uint32_t count_ = 0;
};

}  // namespace smg::prefix_tree
