// CPU time of this process and of watched ones, read from the kernel. Watched processes are read
// from /proc at the kernel's tick (10 ms); one that has gone counts with what was last seen of it,
// which is nothing: watch processes that live longer than the window.
#pragma once

#include <vector>

#include "options.hpp"

namespace smg::bench {

struct CpuTime {
  double user_s = 0;
  double system_s = 0;
};

/// One sample: the whole machine first, then this process, then every watch group in the order of
/// the options. The machine's system time includes interrupts and what the hypervisor took.
std::vector<CpuTime> sample_cpu(const std::vector<WatchGroup>& groups);

}  // namespace smg::bench
