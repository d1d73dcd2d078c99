#include "epoch.hpp"

#include <atomic>

namespace smg::prefix_tree {
namespace {

alignas(64) std::atomic<uint64_t> last_epoch{0};

}  // namespace

uint64_t next_epoch() {
  return last_epoch.fetch_add(1, std::memory_order_relaxed) + 1;
}

void pass_epoch(uint64_t epoch) {
  uint64_t last = last_epoch.load(std::memory_order_relaxed);
  while (last < epoch && !last_epoch.compare_exchange_weak(last, epoch)) {
  }
}

}  // namespace smg::prefix_tree
