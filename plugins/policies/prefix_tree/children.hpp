// All children of a node: one table, or when it becomes too large a fan of 64, each of which may
// become a fan of its own. So no change copies more than a table, also in a node with 100,000
// children.
//
// Readers search and visit without a lock; changes are the writer's, who also retires what they
// replace. A Branch ties the children to their node: they point to it as their parent, so that the
// node can be replaced without touching them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <new>

#include "child_table.hpp"
#include "grace.hpp"

namespace smg::prefix_tree {

class Children {
 public:
  Node* find(uint64_t key) const {
    const uint64_t hash = hash_of(key);
    uint32_t level = 0;
    uintptr_t link = root_.load(std::memory_order_acquire);
    while (is_fan(link)) {
      link = fan(link).links[index(hash, level++)].load(std::memory_order_acquire);
    }
    return link == 0 ? nullptr : table(link).find(hash);
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for_each(root_, visit);
  }

  // Writer from here on. REQUIRES: the key is not present.
  void add(uint64_t key, Node* node, Grace& grace) { add(root_, 0, hash_of(key), node, grace); }

  // REQUIRES: the key is present.
  void replace(uint64_t key, Node* node) {
    const uint64_t hash = hash_of(key);
    table(table_link(hash).load(std::memory_order_relaxed)).replace(hash, node);
  }
  void remove(uint64_t key, Grace& grace) {
    const uint64_t hash = hash_of(key);
    Link& link = table_link(hash);
    ChildTable& last = table(link.load(std::memory_order_relaxed));
    last.remove(hash);
    if (last.count() > 0) return;
    link.store(0, std::memory_order_release);
    grace.retire(&last);
  }

  // Its memory, when nobody needs it any more.
  void retire(Grace& grace) { retire(root_, grace); }

 private:
  static constexpr uint32_t kBits = 6;
  static constexpr uint32_t kLevels = 7;  // each takes kBits from the top of the hash

  // 0, a table, or a fan: then the lowest bit is set.
  using Link = std::atomic<uintptr_t>;
  struct Fan {
    std::array<Link, 1 << kBits> links{};
  };

  static bool is_fan(uintptr_t link) { return (link & 1) != 0; }
  static Fan& fan(uintptr_t link) { return *reinterpret_cast<Fan*>(link - 1); }
  static ChildTable& table(uintptr_t link) { return *reinterpret_cast<ChildTable*>(link); }

  // Different for different keys.
  static uint64_t hash_of(uint64_t key) {
    const uint64_t mixed = (key ^ key >> 32) * 0x9e3779b97f4a7c15u;
    return mixed ^ mixed >> 32;
  }
  static uint64_t index(uint64_t hash, uint32_t level) {
    return hash << (level * kBits) >> (64 - kBits);
  }

  Link& table_link(uint64_t hash) {
    Link* link = &root_;
    for (uint32_t level = 0; is_fan(link->load(std::memory_order_relaxed)); ++level) {
      link = &fan(link->load(std::memory_order_relaxed)).links[index(hash, level)];
    }
    return *link;
  }

  static void add(Link& from, uint32_t level, uint64_t hash, Node* node, Grace& grace) {
    Link* link = &from;
    for (; is_fan(link->load(std::memory_order_relaxed)); ++level) {
      link = &fan(link->load(std::memory_order_relaxed)).links[index(hash, level)];
    }
    const uintptr_t old = link->load(std::memory_order_relaxed);
    if (old != 0 && table(old).has_room()) return table(old).add(hash, node);
    const uint32_t capacity = old == 0 ? 2 : table(old).wanted();
    Link replacement;
    if (capacity > ChildTable::kLargest && level < kLevels) {
      replacement = reinterpret_cast<uintptr_t>(new (::operator new(sizeof(Fan))) Fan) + 1;
    } else {
      replacement = reinterpret_cast<uintptr_t>(ChildTable::make(capacity));
    }
    if (old != 0) {
      table(old).for_each(
          [&](uint64_t each, Node* child) { add(replacement, level, each, child, grace); });
      grace.retire(&table(old));
    }
    add(replacement, level, hash, node, grace);
    link->store(replacement.load(std::memory_order_relaxed), std::memory_order_release);
  }

  template <class Visit>
  static void for_each(const Link& link, Visit& visit) {
    const uintptr_t now = link.load(std::memory_order_acquire);
    if (is_fan(now)) {
      for (const Link& each : fan(now).links) for_each(each, visit);
    } else if (now != 0) {
      table(now).for_each([&](uint64_t, Node* node) { visit(node); });
    }
  }

  static void retire(Link& link, Grace& grace) {
    const uintptr_t now = link.load(std::memory_order_relaxed);
    if (now == 0) return;
    if (!is_fan(now)) return grace.retire(&table(now));
    for (Link& each : fan(now).links) retire(each, grace);
    grace.retire(&fan(now));
  }

  Link root_{0};
};

struct Branch {
  std::atomic<Node*> owner;
  Children children;
};

}  // namespace smg::prefix_tree
