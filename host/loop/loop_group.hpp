// All loops of the process: the data loops 0..n-1, each on a thread of its own, and the control
// loop n.
//
// Owns the loops and their threads. Threads run from start() to stop(); stop() returns when all
// have ended.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "host/loop/loop.hpp"

namespace smg {

class LoopGroup {
 public:
  explicit LoopGroup(std::uint32_t data_loops);
  ~LoopGroup();
  LoopGroup(const LoopGroup&) = delete;
  LoopGroup& operator=(const LoopGroup&) = delete;

  std::uint32_t count() const { return static_cast<std::uint32_t>(loops_.size()); }
  std::uint32_t data_count() const { return count() - 1; }
  Loop& at(std::uint32_t index) { return *loops_[index]; }
  Loop& control() { return *loops_.back(); }

  // `prepare` runs on each new thread before its loop does.
  void start(std::function<void(Loop&)> prepare);
  void stop();

  // Runs `fn` on the loop's thread and waits for it; what it throws is thrown here. REQUIRES:
  // started, not called from a loop.
  void run_on(std::uint32_t index, std::function<void()> fn);

 private:
  std::vector<std::unique_ptr<Loop>> loops_;
  std::vector<std::thread> threads_;
};

// CPUs that this process may use: its affinity mask, lowered by a cgroup quota. At least 1.
std::uint32_t available_cpus();

}  // namespace smg
