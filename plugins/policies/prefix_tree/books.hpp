// How many units each tenant holds, and all of them together. A node counts once for each of its
// holders.
//
// Changed under the writer's lock; total() may be read at any time.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "tenant.hpp"

namespace smg::prefix_tree {

struct Book {
  uint32_t generation = 0;  // 0: nobody has this slot
  bool leaving = false;
  uint64_t size = 0;
};

class Books {
 public:
  // Of the slot, whoever has it.
  Book& at(uint32_t slot) {
    if (slot >= books_.size()) books_.resize(slot + std::size_t{1});
    return books_[slot];
  }
  const Book* find(Tenant tenant) const {
    const bool known = tenant.generation != 0 && tenant.slot < books_.size() &&
                       books_[tenant.slot].generation == tenant.generation;
    return known ? &books_[tenant.slot] : nullptr;
  }
  Book* find(Tenant tenant) {
    return const_cast<Book*>(static_cast<const Books*>(this)->find(tenant));
  }

  void add(Tenant tenant, uint64_t units) {
    find(tenant)->size += units;
    total_.store(total() + units, std::memory_order_relaxed);
  }
  void subtract(Tenant tenant, uint64_t units) {
    find(tenant)->size -= units;
    total_.store(total() - units, std::memory_order_relaxed);
  }

  uint64_t total() const { return total_.load(std::memory_order_relaxed); }
  std::size_t tenants() const {
    std::size_t count = 0;
    for (const Book& book : books_) count += book.generation != 0 && !book.leaving ? 1 : 0;
    return count;
  }

 private:
  std::vector<Book> books_;  // by slot
  std::atomic<uint64_t> total_{0};
};

}  // namespace smg::prefix_tree
