// The nodes of a prefix tree and the few ways in which they change.
//
// What holds between two changes: whoever holds a node holds all nodes above it; a node below the
// root has a holder; children have different keys. Reading needs a Grace::Reader; everything that
// changes nodes needs the writer's lock. The tree owns it.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "books.hpp"
#include "grace.hpp"
#include "node.hpp"

namespace smg::prefix_tree {

template <class Key>
class Structure {
 public:
  using Input = typename Key::Input;

  explicit Structure(Key key) : key_(key), root_(make_node(nullptr, 0, 0, 0)) {
    give_branch(*root_);
  }
  Structure(const Structure&) = delete;
  Structure& operator=(const Structure&) = delete;
  ~Structure() {
    std::vector<Node*> nodes;
    for_each_node([&](Node& node) {
      nodes.push_back(&node);
      return true;
    });
    retire(*root_->branch.load());
    for (Node* node : nodes) retire(*node);
  }

  const Key& key() const { return key_; }
  Node* root() const { return root_.get(); }
  Grace& grace() const { return grace_; }
  Books& books() { return books_; }
  const Books& books() const { return books_; }

  static Input label(Node& node) {
    return Input(static_cast<const typename Key::Element*>(node.label()), node.size);
  }
  OwnNode make(Input label, uint64_t units) const {
    return make_node(label.data(), label.size() * sizeof(label[0]), label.size(), units);
  }

  // Every node but the root, each before what is below it, which is left out if visit(node) is
  // false.
  template <class Visit>
  void for_each_node(Visit visit) const {
    std::vector<Node*> open{root()};
    while (!open.empty()) {
      Node* node = open.back();
      open.pop_back();
      if (node != root() && !visit(*node)) continue;
      node->for_each_child([&](Node* child) { open.push_back(child); });
    }
  }

  // Puts `upper`, and below it `lower`, in the place of `node`, whose label they divide.
  Node& split(Node& node, OwnNode upper, OwnNode lower) {
    Node& above = *upper.release();
    Node& below = *lower.release();
    above.parent = node.parent;
    above.holder_count = below.holder_count = node.holder_count;
    Holders* holders = node.holders.load(std::memory_order_relaxed);
    if (node.holder_count > 1) {
      above.holders.store(Holders::make(node.holder_count), std::memory_order_relaxed);
    }
    // A list outside of the node goes on as the lower one's.
    const bool own = holders == node.own_holders();
    if (!own) below.holders.store(holders, std::memory_order_relaxed);
    for (Holder& holder : *holders) {
      const uint64_t tenant = holder.tenant.load(std::memory_order_relaxed);
      if (tenant == 0) continue;
      const uint64_t epoch = holder.epoch.load(std::memory_order_relaxed);
      above.holders.load(std::memory_order_relaxed)->add(tenant, epoch, 1);
      if (own) {
        below.own_holders()->add(tenant, epoch, holder.children.load(std::memory_order_relaxed));
      }
    }
    give_branch(above);
    Branch* branch = node.branch.load(std::memory_order_relaxed);
    below.branch.store(branch, std::memory_order_relaxed);
    add_child(above, below);
    // Whoever walks up from a child now comes to the lower one: it has to be complete.
    if (branch != nullptr) branch->owner.store(&below, std::memory_order_release);
    node.parent->children.replace(first(node), &above);
    node.dead = true;
    grace_.retire(&node);
    return above;
  }

  // A new leaf that nobody but `tenant` holds.
  void add_leaf(Node& parent, OwnNode leaf, Tenant tenant, uint64_t epoch) {
    Node& node = *leaf.release();
    node.holders.load(std::memory_order_relaxed)->add(word_of(tenant), epoch, 0);
    node.holder_count = 1;
    if (parent.branch.load(std::memory_order_relaxed) == nullptr) give_branch(parent);
    add_child(parent, node);
    books_.add(tenant, node.units);
    attach(parent, tenant, 0, 1);
  }

  // A new leaf with these holders, pairs of a tenant's word and an epoch. REQUIRES: at least one,
  // no tenant twice, each known to the books and, below the root, a holder of the parent.
  Node& add_leaf(Node& parent, OwnNode leaf,
                 std::span<const std::pair<uint64_t, uint64_t>> holders) {
    Node& node = *leaf.release();
    const auto count = static_cast<uint32_t>(holders.size());
    if (count > 1) node.holders.store(Holders::make(count), std::memory_order_relaxed);
    node.holder_count = count;
    for (const auto& [who, epoch] : holders) {
      node.holders.load(std::memory_order_relaxed)->add(who, epoch, 0);
      books_.add(tenant_of(who), node.units);
      if (&parent == root()) continue;
      parent.holder(who)->children.fetch_add(1, std::memory_order_relaxed);
    }
    if (parent.branch.load(std::memory_order_relaxed) == nullptr) give_branch(parent);
    add_child(parent, node);
    return node;
  }

  // Makes the tenant a holder of the node, and with epoch 0 of those above it. `children`: of this
  // node it has just become a holder of so many. An epoch of 0 leaves the one of a holder as it is.
  void attach(Node& node, Tenant tenant, uint64_t epoch, uint32_t children) {
    const uint64_t who = word_of(tenant);
    for (Node* at = &node; at != root(); at = at->above(), epoch = 0, children = 1) {
      if (Holder* holder = at->holder(who)) {
        holder->children.fetch_add(children, std::memory_order_relaxed);
        if (epoch != 0) holder->epoch.store(epoch, std::memory_order_relaxed);
        return;
      }
      add_holder(*at, who, epoch, children);
      books_.add(tenant, at->units);
    }
  }

  // Takes a leaf from its holder and returns the node above. A node that nobody holds is removed.
  // REQUIRES: holder.is_leaf().
  Node& detach(Node& node, Holder& holder) {
    const uint64_t who = holder.tenant.load(std::memory_order_relaxed);
    books_.subtract(tenant_of(who), node.units);
    holder.tenant.store(0, std::memory_order_release);
    Node& above = *node.above();
    if (&above != root()) above.holder(who)->children.fetch_sub(1, std::memory_order_relaxed);
    if (--node.holder_count == 0) {
      node.parent->children.remove(first(node), grace_);
      node.dead = true;
      retire(node);
    }
    return above;
  }

 private:
  uint64_t first(Node& node) const { return key_.first(label(node)); }

  static void give_branch(Node& node) {
    node.branch.store(new (::operator new(sizeof(Branch))) Branch{{&node}, {}},
                      std::memory_order_release);
  }

  void add_child(Node& parent, Node& child) {
    child.parent = parent.branch.load(std::memory_order_relaxed);
    child.parent->children.add(first(child), &child, grace_);
  }

  void add_holder(Node& node, uint64_t who, uint64_t epoch, uint32_t children) {
    Holders* holders = node.holders.load(std::memory_order_relaxed);
    if (!holders->add(who, epoch, children)) {
      Holders* larger = Holders::make(holders->capacity() * 2);
      for (Holder& holder : *holders) {
        larger->add(holder.tenant.load(std::memory_order_relaxed),
                    holder.epoch.load(std::memory_order_relaxed),
                    holder.children.load(std::memory_order_relaxed));
      }
      larger->add(who, epoch, children);
      node.holders.store(larger, std::memory_order_release);
      if (holders != node.own_holders()) grace_.retire(holders);
    }
    ++node.holder_count;
  }

  void retire(Node& node) {
    Holders* holders = node.holders.load(std::memory_order_relaxed);
    if (holders != node.own_holders()) grace_.retire(holders);
    if (Branch* branch = node.branch.load(std::memory_order_relaxed)) retire(*branch);
    grace_.retire(&node);
  }
  void retire(Branch& branch) {
    branch.children.retire(grace_);
    grace_.retire(&branch);
  }

  const Key key_;
  const OwnNode root_;
  mutable Grace grace_;
  Books books_;
};

}  // namespace smg::prefix_tree
