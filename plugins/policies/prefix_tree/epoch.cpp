#include "epoch.hpp"

#include <atomic>

namespace smg::prefix_tree {

uint64_t next_epoch() {
  alignas(64) static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace smg::prefix_tree
