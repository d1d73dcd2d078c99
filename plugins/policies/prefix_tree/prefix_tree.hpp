// Which worker was sent which beginnings of prompts: a radix tree whose nodes know their holders.
//
// First version: one mutex for everything, so that others can build on the interface. Any thread.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <vector>

#include "tenant.hpp"
#include "text_key.hpp"
#include "token_key.hpp"

namespace smg::prefix_tree {

template <class Key>
class PrefixTree {
 public:
  using Input = typename Key::Input;

  template <class... Options>
  explicit PrefixTree(Options... options) : key_(options...) {}

  void add_tenant(Tenant tenant) {
    const std::lock_guard lock(mutex_);
    sizes_.try_emplace(id(tenant), 0);
  }

  void remove_tenant(Tenant tenant) {
    const std::lock_guard lock(mutex_);
    const auto book = sizes_.find(id(tenant));
    if (book == sizes_.end()) return;
    remove_below(root_, id(tenant));
    size_ -= book->second;
    sizes_.erase(book);
  }

  template <class Accept>
  Match match(Input input, Accept accept, uint64_t random) {
    const std::lock_guard lock(mutex_);
    return find(input, accept, random);
  }

  template <class Accept, class Choose>
  std::optional<Tenant> match_and_insert(Input input, Accept accept, uint64_t random,
                                         Choose choose) {
    const Match found = match(input, accept, random);
    const std::optional<Tenant> chosen = choose(found);
    if (chosen) insert(input, *chosen);
    return chosen;
  }

  void insert(Input input, Tenant tenant) {
    const std::lock_guard lock(mutex_);
    if (!sizes_.contains(id(tenant))) return;
    Input rest = key_.storable(input);
    Node* node = &root_;
    while (!rest.empty()) {
      auto& child = node->children[key_.first(rest)];
      if (!child) {
        child = std::make_unique<Node>();
        child->parent = node;
        child->label.assign(rest.begin(), rest.end());
        attach(*child, tenant, ++epoch_);
        return;
      }
      const std::size_t common = key_.common(label(*child), rest);
      if (common == 0) break;
      if (common < child->label.size()) {
        auto upper = std::make_unique<Node>();
        upper->parent = node;
        upper->label.assign(child->label.begin(), child->label.begin() + std::ptrdiff_t(common));
        upper->tenants = child->tenants;
        child->label.erase(child->label.begin(), child->label.begin() + std::ptrdiff_t(common));
        child->parent = upper.get();
        const uint64_t first = key_.first(label(*child));
        upper->children[first] = std::move(child);
        child = std::move(upper);
      }
      attach(*child, tenant, 0);
      if (Key::kInsertTouchesPath) child->tenants[id(tenant)] = ++epoch_;
      rest = rest_of(rest, common);
      node = child.get();
    }
    if (node != &root_) node->tenants[id(tenant)] = ++epoch_;
  }

  uint64_t evict(uint64_t budget) {
    const std::lock_guard lock(mutex_);
    const uint64_t before = size_;
    while (size_ > budget) {
      Node* oldest = nullptr;
      uint64_t tenant = 0;
      visit(root_, [&](Node& node) {
        for (const auto& [who, epoch] : node.tenants) {
          if (!is_leaf(node, who)) continue;
          if (oldest == nullptr || epoch < oldest->tenants[tenant]) {
            oldest = &node;
            tenant = who;
          }
        }
      });
      if (oldest == nullptr) break;
      detach(*oldest, tenant);
    }
    return before - size_;
  }

  uint64_t size() const { return size_; }
  uint64_t size(Tenant tenant) const {
    const std::lock_guard lock(mutex_);
    const auto book = sizes_.find(id(tenant));
    return book == sizes_.end() ? 0 : book->second;
  }
  std::size_t tenant_count() const {
    const std::lock_guard lock(mutex_);
    return sizes_.size();
  }

 private:
  struct Node {
    std::vector<typename Key::Element> label;
    Node* parent = nullptr;
    std::map<uint64_t, std::unique_ptr<Node>> children;
    std::map<uint64_t, uint64_t> tenants;
  };

  static uint64_t id(Tenant tenant) { return uint64_t{tenant.generation} << 32 | tenant.slot; }
  static Input label(const Node& node) { return Input(node.label.data(), node.label.size()); }
  static Input rest_of(Input input, std::size_t from) {
    return Input(input.data() + from, input.size() - from);
  }

  template <class Accept>
  Match find(Input input, Accept& accept, uint64_t random) {
    Match found;
    found.input = key_.units(input);
    Input rest = key_.storable(input);
    Node* node = &root_;
    while (!rest.empty()) {
      const auto child = node->children.find(key_.first(rest));
      if (child == node->children.end()) break;
      const std::size_t common = key_.common(label(*child->second), rest);
      if (common == 0) break;
      found.matched += key_.units(Input(rest.data(), common));
      node = child->second.get();
      rest = rest_of(rest, common);
      if (common < node->label.size()) break;
    }
    for (const auto& [who, epoch] : node->tenants) {
      const Tenant tenant{uint32_t(who), uint32_t(who >> 32)};
      if (found.tenant_count == Match::kMaxTenants || !accept(tenant)) continue;
      found.tenants[found.tenant_count++] = tenant;
    }
    if (found.tenant_count > 0 && random % Key::kMatchesPerTouch == 0) {
      node->tenants[id(found.tenants[0])] = ++epoch_;
    }
    return found;
  }

  void attach(Node& node, Tenant tenant, uint64_t epoch) {
    if (!node.tenants.try_emplace(id(tenant), epoch).second) return;
    size_ += key_.units(label(node));
    sizes_[id(tenant)] += key_.units(label(node));
  }

  void detach(Node& node, uint64_t tenant) {
    node.tenants.erase(tenant);
    size_ -= key_.units(label(node));
    sizes_[tenant] -= key_.units(label(node));
    if (node.tenants.empty()) node.parent->children.erase(key_.first(label(node)));
  }

  bool is_leaf(const Node& node, uint64_t tenant) const {
    for (const auto& [first, child] : node.children) {
      if (child->tenants.contains(tenant)) return false;
    }
    return true;
  }

  template <class Visit>
  void visit(Node& node, const Visit& each) {
    for (const auto& [first, child] : node.children) {
      each(*child);
      visit(*child, each);
    }
  }

  void remove_below(Node& node, uint64_t tenant) {
    for (auto child = node.children.begin(); child != node.children.end();) {
      if (child->second->tenants.erase(tenant) > 0) remove_below(*child->second, tenant);
      child = child->second->tenants.empty() ? node.children.erase(child) : std::next(child);
    }
  }

  Key key_;
  mutable std::mutex mutex_;
  Node root_;
  std::map<uint64_t, uint64_t> sizes_;
  std::atomic<uint64_t> size_{0};
  uint64_t epoch_ = 0;
};

using StringTree = PrefixTree<TextKey>;
using TokenTree = PrefixTree<TokenKey>;

}  // namespace smg::prefix_tree
