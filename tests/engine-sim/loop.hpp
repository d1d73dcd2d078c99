#pragma once
// The event loop: one thread, one epoll set, one timer wheel. Everything in the simulated engine
// runs on it. A watcher gets the epoll events of its fd. An object that may be in use further up
// the stack is handed to retire() and destroyed at the end of the turn.

#include <cstdint>
#include <memory>
#include <vector>

#include "timer_wheel.hpp"

namespace smg::sim {

class Loop {
 public:
  class Watcher {
   public:
    virtual void ready(std::uint32_t events) = 0;

   protected:
    ~Watcher() = default;
  };
  class Retired {
   public:
    virtual ~Retired() = default;
  };

  Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

  void watch(int fd, Watcher& watcher, std::uint32_t events);
  void unwatch(int fd);
  void retire(std::unique_ptr<Retired> object) { retired_.push_back(std::move(object)); }
  TimerWheel& timers() { return timers_; }

  // Time at the start of this turn, monotonic.
  std::int64_t now_ms() const { return now_ms_; }
  // Runs until stop().
  void run();
  void stop() { stopped_ = true; }

  // The clocks themselves, in fractional milliseconds.
  static double monotonic_ms();
  static double unix_ms();

 private:
  int epoll_;
  bool stopped_ = false;
  std::int64_t now_ms_;
  TimerWheel timers_;
  std::vector<std::unique_ptr<Retired>> retired_;
};

}  // namespace smg::sim
