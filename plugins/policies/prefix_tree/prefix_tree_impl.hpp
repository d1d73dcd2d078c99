// The bodies of PrefixTree's functions; included by prefix_tree.hpp only.
#pragma once

#include "prefix_tree.hpp"

namespace smg::prefix_tree {

template <class Key>
void PrefixTree<Key>::add_tenant(Tenant tenant) {
  for (;;) {
    uint32_t former = 0;
    {
      const std::lock_guard lock(writer_);
      Book& book = nodes_.books().at(tenant.slot);
      if (book.generation == 0) book.generation = tenant.generation;
      former = book.generation;
    }
    if (former == tenant.generation) return;
    remove_tenant({tenant.slot, former});
  }
}

template <class Key>
void PrefixTree<Key>::remove_tenant(Tenant tenant) {
  {
    const std::lock_guard lock(writer_);
    Book* book = nodes_.books().find(tenant);
    if (book == nullptr) return;
    book->leaving = true;
  }
  drop_leaves(word_of(tenant), [&] {
    Book* book = nodes_.books().find(tenant);
    if (book == nullptr) return true;
    if (book->size > 0) return false;
    *book = {};
    return true;
  });
}

template <class Key>
template <class Accept>
Match PrefixTree<Key>::match(Input input, Accept accept, uint64_t random) {
  const Grace::Reader reader(nodes_.grace());
  const Walk walk = descend(nodes_.key().storable(input), {.full = nodes_.root()});
  return report(input, walk, accept, random);
}

template <class Key>
template <class Accept, class Choose>
std::optional<Tenant> PrefixTree<Key>::match_and_insert(Input input, Accept accept, uint64_t random,
                                                        Choose choose) {
  const Grace::Reader reader(nodes_.grace());
  const Input stored = nodes_.key().storable(input);
  const Walk walk = descend(stored, {.full = nodes_.root()});
  const std::optional<Tenant> chosen = choose(report(input, walk, accept, random));
  if (chosen) store(stored, walk, *chosen);
  return chosen;
}

template <class Key>
void PrefixTree<Key>::insert(Input input, Tenant tenant) {
  const Grace::Reader reader(nodes_.grace());
  const Input stored = nodes_.key().storable(input);
  store(stored, descend(stored, {.full = nodes_.root()}), tenant);
}

template <class Key>
uint64_t PrefixTree<Key>::size(Tenant tenant) const {
  const std::lock_guard lock(writer_);
  const Book* book = nodes_.books().find(tenant);
  return book == nullptr ? 0 : book->size;
}

template <class Key>
std::size_t PrefixTree<Key>::tenant_count() const {
  const std::lock_guard lock(writer_);
  return nodes_.books().tenants();
}

template <class Key>
typename PrefixTree<Key>::Walk PrefixTree<Key>::descend(Input stored, Walk walk) const {
  const Key& key = nodes_.key();
  while (walk.offset < stored.size()) {
    if (walk.depth == kMaxDepth) {
      walk.blocked = true;
      return walk;
    }
    const Input rest = rest_of(stored, walk.offset);
    Node* child = walk.full->child(key.first(rest));
    if (child == nullptr) return walk;
    const Input label = nodes_.label(*child);
    const std::size_t common = key.common(label, rest);
    if (common == 0) {
      walk.blocked = true;
      return walk;
    }
    if (common < label.size()) {
      walk.part = child;
      walk.common = common;
      walk.common_units = key.units(part_of(label, 0, common));
      walk.blocked = common < rest.size() &&
                     key.first(rest_of(label, common)) == key.first(rest_of(rest, common));
      return walk;
    }
    walk.full = child;
    walk.offset += label.size();
    walk.units += child->units;
    ++walk.depth;
    if (child->is_wide()) walk.shared = walk.units;
  }
  return walk;
}

template <class Key>
template <class Accept>
Match PrefixTree<Key>::report(Input input, const Walk& walk, Accept& accept,
                              uint64_t random) const {
  constexpr uint64_t kMatchesPerTouch = 8;
  Match found;
  found.matched = walk.units + walk.common_units;
  found.shared = walk.shared;
  // What is known need not be counted again.
  found.input = found.matched + nodes_.key().units(rest_of(input, walk.offset + walk.common));
  if (found.matched == 0) return found;
  Holders& holders = *(walk.part != nullptr ? walk.part : walk.full)->holders.load();
  const uint32_t count = holders.filled();
  const uint32_t start = count > 0 ? uniform(random, count) : 0;
  Holder* first = nullptr;
  for (uint32_t i = 0; i < count && found.tenant_count < Match::kMaxTenants; ++i) {
    Holder* holder = holders.begin() + (start + i) % count;
    const uint64_t who = holder->tenant.load(std::memory_order_acquire);
    if (who == 0 || !accept(tenant_of(who))) continue;
    if (found.tenant_count == 0) first = holder;
    found.tenants[found.tenant_count++] = tenant_of(who);
  }
  if (first != nullptr && random % kMatchesPerTouch == 0) {
    first->epoch.store(next_epoch(), std::memory_order_relaxed);
  }
  return found;
}

template <class Key>
bool PrefixTree<Key>::touch(Node& node, uint64_t who) const {
  const uint64_t epoch = next_epoch();
  for (Node* at = &node; at != nodes_.root(); at = at->above()) {
    Holder* holder = at->holder(who);
    if (holder == nullptr) return false;
    holder->epoch.store(epoch, std::memory_order_relaxed);
    if (!Key::kInsertTouchesPath) break;
  }
  return true;
}

template <class Key>
void PrefixTree<Key>::store(Input stored, const Walk& walk, Tenant tenant) {
  const bool nothing_new = walk.part == nullptr && (walk.blocked || walk.offset == stored.size());
  if (nothing_new && touch(*walk.full, word_of(tenant))) return;
  Plan plan = prepare(stored, walk);
  Garbage garbage;
  Node* deepest = nullptr;
  {
    const std::lock_guard lock(writer_);
    const Book* book = nodes_.books().find(tenant);
    if (book == nullptr || book->leaving) return;
    while (!is_current(stored, plan)) {
      Walk from{.full = nodes_.root()};
      if (!plan.walk.full->dead) {
        from = {.full = plan.walk.full,
                .offset = plan.walk.offset,
                .units = plan.walk.units,
                .depth = plan.walk.depth};
      }
      plan = prepare(stored, descend(stored, from));
    }
    deepest = &commit(plan, tenant);
    nodes_.grace().take(garbage, 32);
  }
  if (Key::kInsertTouchesPath) touch(*deepest, word_of(tenant));
}

template <class Key>
typename PrefixTree<Key>::Plan PrefixTree<Key>::prepare(Input stored, const Walk& walk) const {
  Plan plan{.walk = walk, .upper = nullptr, .lower = nullptr, .leaf = nullptr};
  const std::size_t known = walk.offset + walk.common;
  if (walk.part != nullptr) {
    const Input label = nodes_.label(*walk.part);
    plan.upper = nodes_.make(part_of(label, 0, walk.common), walk.common_units);
    plan.lower = nodes_.make(rest_of(label, walk.common), walk.part->units - walk.common_units);
  }
  if (known < stored.size() && !walk.blocked) {
    const Input rest = rest_of(stored, known);
    plan.leaf = nodes_.make(rest, nodes_.key().units(rest));
  }
  return plan;
}

template <class Key>
bool PrefixTree<Key>::is_current(Input stored, const Plan& plan) const {
  const Walk& walk = plan.walk;
  if (walk.full->dead) return false;
  if (walk.part != nullptr) return !walk.part->dead;
  return plan.leaf == nullptr ||
         walk.full->child(nodes_.key().first(rest_of(stored, walk.offset))) == nullptr;
}

template <class Key>
Node& PrefixTree<Key>::commit(Plan& plan, Tenant tenant) {
  Node* node = plan.walk.full;
  if (plan.walk.part != nullptr) {
    node = &nodes_.split(*plan.walk.part, std::move(plan.upper), std::move(plan.lower));
  }
  if (plan.leaf != nullptr) {
    nodes_.add_leaf(*node, std::move(plan.leaf), tenant, next_epoch());
  } else {
    nodes_.attach(*node, tenant, next_epoch(), 0);
  }
  return *node;
}

template <class Key>
uint64_t PrefixTree<Key>::evict(uint64_t budget) {
  if (size() <= budget) return 0;
  return drop_leaves(0, [&] { return size() <= budget; });
}

template <class Key>
template <class Done>
uint64_t PrefixTree<Key>::drop_leaves(uint64_t only, Done done) {
  constexpr int kBatch = 16;
  uint64_t dropped = 0;
  bool is_done = false;
  while (!is_done) {
    // What is split meanwhile is not in the queue any more, nor is what comes: that takes another
    // round, if it has to go too.
    const Grace::Reader reader(nodes_.grace());
    LeafQueue queue(leaves(only));
    do {
      for (const Leaf& leaf : queue.upcoming(kBatch)) warm(leaf);
      {
        const std::lock_guard lock(writer_);
        is_done = done();
        for (int i = 0; i < kBatch && !is_done && !queue.empty(); ++i) {
          dropped += drop_next(queue);
          is_done = done();
        }
      }
      writer_.give_way();
    } while (!is_done && !queue.empty());
  }
  free_garbage();
  return dropped;
}

template <class Key>
std::vector<Leaf> PrefixTree<Key>::leaves(uint64_t only) const {
  std::vector<Leaf> found;
  nodes_.for_each_node([&](Node& node) {
    bool is_held = false;
    for (Holder& holder : *node.holders.load(std::memory_order_acquire)) {
      const uint64_t who = holder.tenant.load(std::memory_order_acquire);
      if (who == 0 || (only != 0 && who != only)) continue;
      is_held = true;
      if (!holder.is_leaf()) continue;
      found.push_back({holder.epoch.load(std::memory_order_relaxed), &node, who});
    }
    return is_held;
  });
  return found;
}

// Brings what drop_next() will read into the cache, so that it need not wait under the lock.
template <class Key>
void PrefixTree<Key>::warm(const Leaf& leaf) const {
  leaf.node->holder(leaf.tenant);
  const Node* above = leaf.node->above();
  above->child(nodes_.key().first(nodes_.label(*leaf.node)));
  above->holder(leaf.tenant);
}

// Takes the next leaf of the queue, if it still is one and was not used since; the node above
// follows it into the queue if now it is a leaf.
template <class Key>
uint64_t PrefixTree<Key>::drop_next(LeafQueue& queue) {
  const Leaf leaf = queue.pop();
  const auto push = [&](Node& node, const Holder& holder) {
    queue.push({holder.epoch.load(std::memory_order_relaxed), &node, leaf.tenant});
  };
  Holder* holder = leaf.node->dead ? nullptr : leaf.node->holder(leaf.tenant);
  if (holder == nullptr || !holder->is_leaf()) return 0;
  if (holder->epoch.load(std::memory_order_relaxed) != leaf.epoch) {
    push(*leaf.node, *holder);
    return 0;
  }
  const uint64_t units = leaf.node->units;
  Node& above = nodes_.detach(*leaf.node, *holder);
  if (&above == nodes_.root()) return units;
  const Holder* next = above.holder(leaf.tenant);
  if (next->is_leaf()) push(above, *next);
  return units;
}

template <class Key>
void PrefixTree<Key>::free_garbage() {
  for (bool more = true; more;) {
    Garbage garbage;
    {
      const std::lock_guard lock(writer_);
      nodes_.grace().take(garbage, 128, true);
    }
    writer_.give_way();
    more = !garbage.empty();
  }
}

template <class Key>
Census PrefixTree<Key>::recount() const {
  const std::lock_guard lock(writer_);
  Census census;
  nodes_.for_each_node([&](Node& node) {
    ++census.nodes;
    uint32_t holders = 0;
    for (Holder& holder : *node.holders.load()) {
      const uint64_t who = holder.tenant.load();
      if (who == 0) continue;
      ++holders;
      census.total += node.units;
      census.by_slot[tenant_of(who).slot] += node.units;
      uint32_t children = 0;
      node.for_each_child([&](Node* child) {
        if (child->holder(who) != nullptr) ++children;
        if (child->above() != &node) ++census.faults;
      });
      if (children != holder.children.load()) ++census.faults;
      const bool above = node.above() == nodes_.root() || node.above()->holder(who) != nullptr;
      if (!above || nodes_.books().find(tenant_of(who)) == nullptr) ++census.faults;
    }
    if (holders == 0 || holders != node.holder_count || node.dead) ++census.faults;
    if (nodes_.key().units(nodes_.label(node)) != node.units) ++census.faults;
    return true;
  });
  return census;
}

}  // namespace smg::prefix_tree
