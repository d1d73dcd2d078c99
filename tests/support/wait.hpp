// Waiting for what another thread does, with a deadline instead of a guess.
#pragma once

#include <chrono>
#include <thread>

namespace smg::test {

template <typename Condition>
bool eventually(Condition condition, std::chrono::seconds deadline = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace smg::test
