// The leaves that an eviction run may take, least recently used first.
//
// Most are known at the beginning and are sorted once; those that come later (the node above one
// that went, one that was used meanwhile) are few and wait in a heap. So taking the next one costs
// next to nothing under the writer's lock. Owned by one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace smg::prefix_tree {

struct Node;

struct Leaf {
  uint64_t epoch;
  Node* node;
  uint64_t tenant;

  friend bool operator>(const Leaf& a, const Leaf& b) { return a.epoch > b.epoch; }
};

class LeafQueue {
 public:
  explicit LeafQueue(std::vector<Leaf> leaves) : first_(std::move(leaves)) {
    std::sort(first_.begin(), first_.end(), std::greater<>());
  }

  bool empty() const { return first_.empty() && later_.empty(); }

  // REQUIRES: not empty.
  Leaf pop() {
    if (later_.empty() || (!first_.empty() && later_.front() > first_.back())) {
      const Leaf leaf = first_.back();
      first_.pop_back();
      return leaf;
    }
    std::pop_heap(later_.begin(), later_.end(), std::greater<>());
    const Leaf leaf = later_.back();
    later_.pop_back();
    return leaf;
  }
  void push(const Leaf& leaf) {
    later_.push_back(leaf);
    std::push_heap(later_.begin(), later_.end(), std::greater<>());
  }

  // The next `count` of those known from the beginning, or fewer.
  std::span<const Leaf> upcoming(std::size_t count) const {
    return std::span(first_).last(std::min(count, first_.size()));
  }

 private:
  std::vector<Leaf> first_;  // the next one at the end
  std::vector<Leaf> later_;  // a heap
};

}  // namespace smg::prefix_tree
