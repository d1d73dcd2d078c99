// The hash rings of all pools that a policy chooses from, by the pool's generation.
//
// The control thread makes a ring when it hears of a pool and publishes a new directory of all
// rings. Each loop keeps the directory that it saw last and looks with one load whether there is
// another; only then it takes a lock, to copy one pointer. Threads that are no loop share one copy
// under a lock.
//
// Members of a ring are numbered by the index in its pool, so a walk ends at an index and no string
// is looked at on the request path. The ring of the pool before stays known, for requests on their
// way. Pools with the same URLs, as of a model that all workers serve and of all workers, share
// one.
//
// A loop that does not select keeps its old directory until it does.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "hash_ring.hpp"
#include "smg/cpp/loop.hpp"
#include "smg/cpp/policy.hpp"

namespace smg {

class PoolRings {
 public:
  explicit PoolRings(Host host);

  // [control] As in smg/policy.h.
  void pool_changed(const smg_pool* before, const smg_pool* after);

  // [any] What body(ring, visited) answers, where `ring` is that of the pool, or nullptr if it is
  // not known. Both may be used during the call only.
  template <class Body>
  auto with_ring(const Pool& pool, Body&& body) {
    const uint32_t loop = loop_.current();
    if (loop < rows_.size()) return with_row(rows_[loop], pool, body);
    const std::lock_guard lock(off_loop_mutex_);
    return with_row(off_loop_, pool, body);
  }

 private:
  struct Known {
    uint64_t generation;  // of the pool
    uint64_t previous;    // generation of the pool before it; 0: none
    std::shared_ptr<const HashRing> ring;
  };
  using Directory = std::vector<Known>;  // by generation

  struct alignas(64) Row {
    std::shared_ptr<const Directory> directory;
    Visited visited;
  };

  template <class Body>
  auto with_row(Row& row, const Pool& pool, Body& body) {
    // The row's own directory is alive, so no other one can have its address.
    if (row.directory.get() != newest_.load(std::memory_order_acquire)) refresh(row);
    return body(find(*row.directory, pool.generation()), row.visited);
  }

  static const HashRing* find(const Directory& directory, uint64_t generation);
  static void forget(Directory& directory, uint64_t generation);
  void refresh(Row& row);
  void publish(std::shared_ptr<const Directory> directory);

  Loop loop_;
  std::vector<Row> rows_;
  Row off_loop_;
  std::mutex off_loop_mutex_;

  std::mutex mutex_;
  std::shared_ptr<const Directory> directory_;
  // Freed here on the control thread, once no loop has them any more: that of a large fleet takes
  // its time.
  std::vector<std::shared_ptr<const Directory>> retired_;
  alignas(64) std::atomic<const Directory*> newest_{nullptr};
};

}  // namespace smg
