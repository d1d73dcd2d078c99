// How a prefix tree is handed over; included by prefix_tree.hpp only.
//
// Every node stands after the one above it:
//
//   tree   := node* 0
//   node   := level (1 below the root), label, holders
//   label  := a text: the elements as they lie in memory
//   holder := number of the tenant, epoch of its last use
//
// So a tree takes little more than its labels, and epochs keep the order in which leaves would be
// evicted.
#pragma once

#include <algorithm>
#include <cstring>

#include "prefix_tree.hpp"

namespace smg::prefix_tree {

template <class Key>
template <class NumberOf>
void PrefixTree<Key>::export_state(StateWriter& writer, NumberOf number_of) const {
  struct Open {
    Node* node;
    uint64_t level;
  };
  const Grace::Reader reader(nodes_.grace());
  std::vector<Open> open;
  const auto open_below = [&](const Node& node, uint64_t level) {
    node.for_each_child([&](Node* child) { open.push_back({child, level + 1}); });
  };
  open_below(*nodes_.root(), 0);
  std::vector<std::pair<uint32_t, uint64_t>> holders;
  while (!open.empty()) {
    const auto [node, level] = open.back();
    open.pop_back();
    holders.clear();
    for (Holder& holder : *node->holders.load(std::memory_order_acquire)) {
      const uint64_t who = holder.tenant.load(std::memory_order_acquire);
      if (who == 0) continue;
      if (const auto number = number_of(tenant_of(who))) {
        holders.emplace_back(*number, holder.epoch.load(std::memory_order_relaxed));
      }
    }
    if (holders.empty()) continue;
    writer.number(level);
    const Input label = nodes_.label(*node);
    writer.text({reinterpret_cast<const char*>(label.data()),
                 label.size() * sizeof(typename Key::Element)});
    writer.number(holders.size());
    for (const auto& [number, epoch] : holders) {
      writer.number(number);
      writer.number(epoch);
    }
    open_below(*node, level);
  }
  writer.number(0);
}

template <class Key>
void PrefixTree<Key>::import_state(StateReader& reader, std::span<const Tenant> tenants) {
  std::vector<typename Key::Element> label;
  std::vector<Node*> path{nodes_.root()};  // to the last node; nullptr: left out
  const std::lock_guard lock(writer_);
  while (const uint64_t level = reader.number(path.size())) {
    const std::string_view bytes = reader.text();
    label.resize(bytes.size() / sizeof(typename Key::Element));
    const std::size_t size = label.size() * sizeof(typename Key::Element);
    if (size > 0) std::memcpy(label.data(), bytes.data(), size);
    const Input input(label.data(), label.size());
    if (size == 0 || size != bytes.size() || nodes_.key().storable(input).size() != input.size()) {
      reader.fail("no tree keeps a label of " + std::to_string(bytes.size()) + " bytes");
    }
    HolderList holders = import_holders(reader, tenants);
    path.resize(level);
    Node* const parent = path.back();
    const bool taken = parent != nullptr && level <= kMaxDepth;
    path.push_back(taken ? import_node(*parent, input, std::move(holders)) : nullptr);
  }
}

template <class Key>
typename PrefixTree<Key>::HolderList PrefixTree<Key>::import_holders(
    StateReader& reader, std::span<const Tenant> tenants) const {
  constexpr std::size_t kLeastBytes = 2;
  HolderList holders;
  for (std::size_t left = reader.count(kLeastBytes); left > 0; --left) {
    const uint64_t number = reader.number();
    const uint64_t epoch = std::min(reader.number(), kMaxEpoch);
    pass_epoch(epoch);
    if (number < tenants.size()) holders.emplace_back(word_of(tenants[number]), epoch);
  }
  return holders;
}

// The state was written while the tree changed, or by who knows whom: whatever would break the
// rules of the structure is left out, in the end the node with all below it.
template <class Key>
Node* PrefixTree<Key>::import_node(Node& parent, Input label, HolderList holders) {
  if (parent.child(nodes_.key().first(label)) != nullptr) return nullptr;
  std::erase_if(holders, [&](const auto& holder) {
    const Book* book = nodes_.books().find(tenant_of(holder.first));
    return book == nullptr || book->leaving ||
           (&parent != nodes_.root() && parent.holder(holder.first) == nullptr);
  });
  std::sort(holders.begin(), holders.end());
  const auto end = std::unique(holders.begin(), holders.end(),
                               [](const auto& a, const auto& b) { return a.first == b.first; });
  holders.erase(end, holders.end());
  if (holders.empty()) return nullptr;
  Garbage garbage;
  Node& node = nodes_.add_leaf(parent, nodes_.make(label, nodes_.key().units(label)), holders);
  nodes_.grace().take(garbage, 32);
  return &node;
}

}  // namespace smg::prefix_tree
