// Who holds a prefix, and what a look-up finds.
//
// A tenant is a worker as the trees know it: the slot is a small integer that is given to another
// worker once this one has left, and then comes with another generation. So a request that was
// decided before a worker left cannot bring it back, nor be booked on its successor. Values; any
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace smg::prefix_tree {

struct Tenant {
  uint32_t slot = 0;
  uint32_t generation = 0;  // never 0 in a tree

  friend bool operator==(const Tenant&, const Tenant&) = default;
};

// Counts are units: Unicode scalar values in a StringTree, tokens in a TokenTree.
struct Match {
  static constexpr uint32_t kMaxTenants = 8;

  uint64_t matched = 0;
  uint64_t input = 0;  // all of it, also what is too short for a page
  // Of `matched`, up to the deepest place from where five continuations or more are known: what the
  // input has in common with many others.
  uint64_t shared = 0;
  // Who holds the deepest node reached, even if only a part of its label matched; of many, a
  // sample. Nobody if nothing matched.
  std::array<Tenant, kMaxTenants> tenants{};
  uint32_t tenant_count = 0;

  std::span<const Tenant> holders() const { return {tenants.data(), tenant_count}; }
};

}  // namespace smg::prefix_tree
