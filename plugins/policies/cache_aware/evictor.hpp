// The thread that keeps the policy's memory within its budgets: trees and placement maps every
// eviction interval and whenever a tree has outgrown its budget by an eighth, engines' blocks every
// 30 s if they are limited.
//
// Owned by the policy's instance. The intervals are timers of the control loop, so time is the
// host's; the timers and wake() only leave a note and never wait for the work. The destructor ends
// the run that is under way between two models and joins.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "models.hpp"
#include "settings.hpp"
#include "smg/cpp/clock.hpp"
#include "smg/cpp/loop.hpp"

namespace cache_aware {

class Evictor {
 public:
  // [control]
  Evictor(smg::Host host, const Settings& settings, const Models& models);
  ~Evictor();
  Evictor(const Evictor&) = delete;
  Evictor& operator=(const Evictor&) = delete;

  // [any] A tree has outgrown its budget. Costs one load while a run is due or under way.
  void wake();

 private:
  void clean_up_due() noexcept;
  void prune_due() noexcept;
  void leave_note(bool& note);
  void run();
  void clean_up(const Models::List& models);
  void prune(const Models::List& models);

  static constexpr uint64_t kSecond = 1'000'000'000;
  static constexpr uint64_t kPruneInterval = 30 * kSecond;

  const smg::Clock clock_;
  const smg::Loop loop_;
  const Settings& settings_;
  const Models& models_;
  smg::Timer<&Evictor::clean_up_due> clean_up_timer_{*this};
  smg::Timer<&Evictor::prune_due> prune_timer_{*this};
  std::atomic<bool> awake_{false};
  std::mutex mutex_;  // of the notes
  std::condition_variable noted_;
  bool clean_up_noted_ = false;
  bool prune_noted_ = false;
  std::atomic<bool> stop_{false};  // set under the mutex
  std::thread thread_;
};

}  // namespace cache_aware
