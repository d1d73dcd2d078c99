// The order in which prefixes were used: a number for each use, from one counter for all trees, so
// that it needs no clock. Any thread.
#pragma once

#include <cstdint>

namespace smg::prefix_tree {

// Never 0, which is older than any use.
uint64_t next_epoch();

// All that come are above this one, which another counter gave. REQUIRES: epoch <= kMaxEpoch.
void pass_epoch(uint64_t epoch);
inline constexpr uint64_t kMaxEpoch = uint64_t{1} << 62;

}  // namespace smg::prefix_tree
