// Host names to addresses, without blocking a loop: getaddrinfo on two threads of its own.
//
// Asked and answered on the same loop. Answers are kept for five seconds, failures for one, so that
// a burst of new connections costs one look-up and a changed record is seen soon.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "host/loop/loop_group.hpp"
#include "smg/host.h"

namespace smg {

class Resolver {
 public:
  explicit Resolver(LoopGroup& loops);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // [loop] 0: answered from within the call (literals, kept answers). Else a handle for cancel().
  // `caller`: number of the FaultMeter that is to blame for what `fn` throws.
  std::uint64_t resolve(std::string_view name, std::uint16_t port, smg_resolved_fn fn,
                        void* context, std::uint32_t caller = 0);
  // [loop] The one that asked; false, and without effect, on any other thread. No call follows.
  // Idempotent.
  bool cancel(std::uint64_t handle);

 private:
  struct Answer {
    std::vector<smg_address> addresses;
    std::string detail;
    std::uint64_t until = 0;
  };
  struct Query;

  void work();
  static Answer look_up(const std::string& name);
  static void deliver(smg_task* task);

  LoopGroup& loops_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Query*> queue_;
  std::map<std::string, Answer, std::less<>> kept_;
  std::unordered_map<std::uint64_t, Query*> asked_;
  std::uint64_t next_handle_ = 1;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace smg
