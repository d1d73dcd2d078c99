// The lock of those who change a tree, with a way for long work to let others in between its parts:
// a plain mutex would often be taken again by the one that has just released it.
//
// Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

namespace smg::prefix_tree {

class WriterLock {
 public:
  void lock() {
    if (mutex_.try_lock()) return;
    waiting_.fetch_add(1, std::memory_order_relaxed);
    // Changes are short: sleeping and being woken would take longer than most of them.
    constexpr int kTries = 100;
    for (int i = 0; !mutex_.try_lock(); ++i) {
      if (i == kTries) {
        mutex_.lock();
        break;
      }
      pause();
    }
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    served_.fetch_add(1, std::memory_order_relaxed);
  }
  void unlock() { mutex_.unlock(); }

  // Returns when those who wait now have had the lock, or as many others. REQUIRES: not locked.
  void give_way() const {
    const uint32_t before = served_.load(std::memory_order_relaxed);
    const uint32_t waiting = waiting_.load(std::memory_order_relaxed);
    while (waiting_.load(std::memory_order_relaxed) > 0 &&
           served_.load(std::memory_order_relaxed) - before < waiting) {
      std::this_thread::yield();
    }
  }

 private:
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
  }

  std::mutex mutex_;
  std::atomic<uint32_t> waiting_{0};
  std::atomic<uint32_t> served_{0};  // of those who waited
};

}  // namespace smg::prefix_tree
