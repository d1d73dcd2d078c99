// One thread for work that would hold up the control loop. What it finds is brought back there.
//
// Made and used on the control loop. Destroyed, it waits for the work in hand and drops the rest.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "host/loop/loop.hpp"

namespace smg {

class Background {
 public:
  // Runs on the thread; what it returns runs on the control loop.
  using Then = std::function<void()>;
  using Work = std::function<Then()>;

  explicit Background(Loop& control);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void submit(Work work);

 private:
  struct Result;
  void run(const std::stop_token& stop);

  Loop& control_;
  // What comes back looks whether there is still somebody to come back to.
  const std::shared_ptr<bool> here_ = std::make_shared<bool>(true);
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Work> waiting_;
  std::jthread thread_;
};

}  // namespace smg
