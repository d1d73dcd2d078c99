// One event loop: one thread, edge-triggered epoll, a coarse timer wheel, posted and deferred
// tasks.
//
// All functions are for the loop's own thread, post() and stop() excepted. Watches, timers and
// tasks are intrusive (smg/host.h) and belong to the caller; the loop never allocates after
// construction. A turn is: wait, run what is ready, run due timers, run posted tasks, run deferred
// tasks. After every single call-back the tasks handed to at_return() run, which is where corked
// output is sent. What a call-back throws ends there: it is counted as a stray fault
// (host/plugin/fault_meter.hpp), and the loop goes on.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "smg/host.h"

namespace smg {

class Loop {
 public:
  static constexpr std::size_t kScratchSize = 128 * 1024;

  explicit Loop(std::uint32_t index);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // The loop whose thread this is, or nullptr.
  static Loop* current();

  std::uint32_t index() const { return index_; }
  // Monotonic time in ns, read once per turn.
  std::uint64_t now() const { return now_; }
  static std::uint64_t clock();

  void run();   // returns after stop()
  void stop();  // any thread

  // False (errno is set) if the kernel refuses the descriptor, or it is watched already.
  bool watch(smg_watch* watch);
  // False, and without effect, if another loop watches it.
  bool unwatch(smg_watch* watch);
  void set_timer(smg_timer* timer, std::uint64_t due);
  void clear_timer(smg_timer* timer);
  void post(smg_task* task);  // any thread
  void defer(smg_task* task);
  // Runs the task as soon as the running call-back returns. REQUIRES: not handed over already.
  void at_return(smg_task* task);

  // Any thread. Makes a task that is zero ready for post() or defer(); false if it is waiting
  // already, on whatever loop. Those two do not ask: the host knows what it has posted.
  static bool claim(smg_task* task);

  smg_buffer scratch() { return {scratch_.get(), kScratchSize}; }

 private:
  static constexpr unsigned kTickShift = 24;  // 16.8 ms
  static constexpr std::size_t kSlots = 512;

  int wait_timeout() const;
  void run_timers();
  void run_posted();
  void run_deferred();
  void run_list(smg_task* list);
  void drain_returns();

  std::uint32_t index_;
  int epoll_ = -1;
  int wake_ = -1;
  std::uint64_t now_ = 0;
  std::uint64_t tick_ = 0;  // last tick whose slot was run
  std::array<smg_timer*, kSlots> slots_{};
  std::array<std::uint64_t, kSlots / 64> occupied_{};
  smg_task* returns_;
  smg_task* deferred_;
  smg_task* deferred_last_ = nullptr;
  std::unique_ptr<char[]> scratch_;
  std::atomic<bool> stopping_{false};
  alignas(64) std::atomic<smg_task*> posted_;
};

}  // namespace smg
