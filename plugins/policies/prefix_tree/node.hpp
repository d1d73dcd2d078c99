// A node of a prefix tree: a label that never changes, what follows it, and who holds it.
//
// One piece of memory: the node, room for its first holder, its label. A node is cut in two by
// putting two new ones in its place. Label, units and parent are fixed when it is linked; holders
// and branch are read by anyone who may see the node; the rest is the writer's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "children.hpp"
#include "holders.hpp"

namespace smg::prefix_tree {

struct Node {
  Branch* parent = nullptr;              // none above the root
  std::atomic<Branch*> branch{nullptr};  // none until it has a child
  std::atomic<Holders*> holders{nullptr};
  uint32_t size = 0;   // of the label, in elements
  uint32_t units = 0;  // of the label
  uint32_t holder_count = 0;
  bool dead = false;  // no longer linked

  Holders* own_holders() { return reinterpret_cast<Holders*>(this + 1); }
  void* label() { return reinterpret_cast<char*>(this + 1) + Holders::bytes(1); }

  Node* above() const { return parent->owner.load(std::memory_order_acquire); }
  Node* child(uint64_t key) const {
    const Branch* below = branch.load(std::memory_order_acquire);
    return below == nullptr ? nullptr : below->children.find(key);
  }
  Holder* holder(uint64_t tenant) const {
    return holders.load(std::memory_order_acquire)->find(tenant);
  }
  template <class Visit>
  void for_each_child(Visit visit) const {
    if (const Branch* below = branch.load(std::memory_order_acquire)) {
      below->children.for_each(visit);
    }
  }
};
static_assert(sizeof(Node) % alignof(Holders) == 0);

struct FreeNode {
  void operator()(Node* node) const { ::operator delete(node); }
};
using OwnNode = std::unique_ptr<Node, FreeNode>;

inline OwnNode make_node(const void* label, std::size_t bytes, std::size_t size, uint64_t units) {
  void* memory = ::operator new(sizeof(Node) + Holders::bytes(1) + bytes);
  OwnNode node(new (memory) Node);
  node->holders.store(new (node->own_holders()) Holders(1), std::memory_order_relaxed);
  node->size = static_cast<uint32_t>(size);
  node->units = static_cast<uint32_t>(units);
  if (bytes > 0) std::memcpy(node->label(), label, bytes);
  return node;
}

}  // namespace smg::prefix_tree
