// The order in which prefixes were used: a number for each use, from one counter for all trees, so
// that it needs no clock. Any thread.
#pragma once

#include <cstdint>

namespace smg::prefix_tree {

// Never 0, which is older than any use.
uint64_t next_epoch();

}  // namespace smg::prefix_tree
