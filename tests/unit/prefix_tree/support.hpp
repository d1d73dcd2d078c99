// What the tests of the trees have in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "prefix_tree.hpp"

namespace smg::prefix_tree::test {

inline const auto anyone = [](Tenant) { return true; };

constexpr uint64_t kTouch = 0;    // `random` with which a look-up marks what it found as used
constexpr uint64_t kNoTouch = 1;  // and one with which it does not

template <class Tree>
Match look_up(Tree& tree, typename Tree::Input input) {
  return tree.match(input, anyone, kNoTouch);
}

inline bool names(const Match& found, Tenant tenant) {
  const auto holders = found.holders();
  return std::find(holders.begin(), holders.end(), tenant) != holders.end();
}

// Those and no others.
inline bool names_only(const Match& found, const std::vector<Tenant>& tenants) {
  return found.tenant_count == tenants.size() &&
         std::all_of(tenants.begin(), tenants.end(), [&](Tenant t) { return names(found, t); });
}

// The books against a walk through all nodes.
template <class Tree>
bool books_are_right(const Tree& tree, const std::vector<Tenant>& tenants) {
  const Census census = tree.recount();
  uint64_t sum = 0;
  for (const Tenant tenant : tenants) {
    const auto found = census.by_slot.find(tenant.slot);
    if (tree.size(tenant) != (found == census.by_slot.end() ? 0 : found->second)) return false;
    sum += tree.size(tenant);
  }
  return census.faults == 0 && census.total == tree.size() && census.total == sum;
}

// Numbers that are the same in every run (splitmix64).
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  uint64_t below(uint64_t bound) { return next() % bound; }

 private:
  uint64_t state_;
};

}  // namespace smg::prefix_tree::test
