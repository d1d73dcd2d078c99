// The fleet as plugins under check meet it: control calls are answered as the check says, notes are
// counted.
//
// Calls belong to the control loop; notes may come from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/loop/loop.hpp"
#include "smg/host.h"

namespace smg::check {

class FakeFleet {
 public:
  struct Answer {
    std::uint32_t status = 200;  // 0: none came
    std::uint32_t end = 0;       // SMG_END_*
    std::string body;
    std::string detail;
    bool silent = false;  // only the call's time limit ends it
  };

  explicit FakeFleet(Loop& control);
  ~FakeFleet();
  FakeFleet(const FakeFleet&) = delete;
  FakeFleet& operator=(const FakeFleet&) = delete;

  // What calls are answered with, by path. Set while no call is open.
  std::function<Answer(std::string_view path)> answer;

  // [control]
  std::uint64_t call(const smg_call& call, smg_call_fn done, void* context);
  void cancel(std::uint64_t handle);
  std::size_t open_calls() const { return open_.size(); }

  // [any]
  void note() { notes_.fetch_add(1, std::memory_order_relaxed); }
  void tracked(std::int32_t delta) { tracked_.fetch_add(delta, std::memory_order_relaxed); }
  // Streams that a transport counts for liveness and has not taken back.
  std::int64_t tracked_load() const { return tracked_.load(std::memory_order_relaxed); }

 private:
  struct Open;
  void finish(std::uint64_t handle, const Answer& given);

  Loop& control_;
  std::map<std::uint64_t, std::unique_ptr<Open>> open_;
  std::vector<std::unique_ptr<Open>> done_;  // whose task may still be on its way
  std::uint64_t last_ = 0;
  std::atomic<std::uint64_t> notes_{0};
  std::atomic<std::int64_t> tracked_{0};
};

// What is wrong with a report that a plugin hands over; empty: nothing. nullptr is wrong.
std::string report_problem(const smg_load_report* report);

}  // namespace smg::check
