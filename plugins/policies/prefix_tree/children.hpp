// The children of a node by the key of their first unit: an open-addressing table that readers
// search without a lock while the one writer changes it.
//
// A place of a table gets its key once; its node may be replaced and then removed, never set again.
// A table without room is copied into a new one, sized by what is left, and retired. A Branch ties
// the table to its node: children point to it as their parent, so that a node can be replaced
// without touching its children, of which there may be 100,000.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace smg::prefix_tree {

struct Node;

class Children {
 public:
  static Children* make(uint32_t capacity) {
    return new (::operator new(sizeof(Children) + capacity * sizeof(Place))) Children(capacity);
  }

  Node* find(uint64_t key) const {
    const Place* place = search(key);
    Node* node = place == nullptr ? nullptr : place->node.load(std::memory_order_acquire);
    return node == gone() ? nullptr : node;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (uint32_t i = 0; i < capacity_; ++i) {
      Node* node = places()[i].node.load(std::memory_order_acquire);
      if (node != nullptr && node != gone()) visit(node);
    }
  }

  // More than kSmall children, at least when the table was made.
  bool is_wide() const { return capacity_ > kSmall; }

  // Writer from here on.
  uint32_t count() const { return count_; }
  bool has_room() const {
    return capacity_ <= kSmall ? used_ < capacity_ : used_ < capacity_ / 4 * 3;
  }

  // REQUIRES: has_room(), the key is not present.
  void add(uint64_t key, Node* node) {
    uint32_t i = home(key);
    while (places()[i].node.load(std::memory_order_relaxed) != nullptr) i = (i + 1) & mask();
    places()[i].key.store(key, std::memory_order_relaxed);
    places()[i].node.store(node, std::memory_order_release);
    ++used_;
    ++count_;
  }
  void replace(uint64_t key, Node* node) {
    const_cast<Place*>(search(key))->node.store(node, std::memory_order_release);
  }
  void remove(uint64_t key) {
    replace(key, gone());
    --count_;
  }
  // A larger table with the same children, or one that is as large if many are gone.
  Children* copy() const {
    uint32_t capacity = count_ < 2 ? 2 : kSmall;
    if (count_ >= kSmall) {
      while (capacity / 2 < count_ + 1) capacity *= 2;
    }
    Children* copied = make(capacity);
    for (uint32_t i = 0; i < capacity_; ++i) {
      Node* node = places()[i].node.load(std::memory_order_relaxed);
      if (node == nullptr || node == gone()) continue;
      copied->add(places()[i].key.load(std::memory_order_relaxed), node);
    }
    return copied;
  }

 private:
  static constexpr uint32_t kSmall = 4;  // up to here a table may be full

  struct Place {
    std::atomic<uint64_t> key{0};
    std::atomic<Node*> node{nullptr};
  };

  explicit Children(uint32_t capacity) : capacity_(capacity) {
    for (uint32_t i = 0; i < capacity; ++i) new (places() + i) Place;
  }

  static Node* gone() { return reinterpret_cast<Node*>(1); }
  Place* places() { return reinterpret_cast<Place*>(this + 1); }
  const Place* places() const { return reinterpret_cast<const Place*>(this + 1); }
  uint32_t mask() const { return capacity_ - 1; }
  uint32_t home(uint64_t key) const {
    return static_cast<uint32_t>(key * 0x9e3779b97f4a7c15u >> 32) & mask();
  }
  // The place of a child with that key; a place of one that is gone does not count.
  const Place* search(uint64_t key) const {
    uint32_t at = home(key);
    for (uint32_t i = 0; i < capacity_; ++i, at = (at + 1) & mask()) {
      const Place& place = places()[at];
      const Node* node = place.node.load(std::memory_order_acquire);
      if (node == nullptr) return nullptr;
      if (node != gone() && place.key.load(std::memory_order_relaxed) == key) return &place;
    }
    return nullptr;
  }

  const uint32_t capacity_;  // a power of two
  uint32_t used_ = 0;        // with those that are gone
  uint32_t count_ = 0;
};

struct Branch {
  std::atomic<Node*> owner;
  std::atomic<Children*> children;
};

}  // namespace smg::prefix_tree
