// The same control call to many workers, a limited number at a time.
//
// Control loop. Ends with one call of `done`, never from within start(); destroyed before that, it
// cancels what runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/fleet/calls.hpp"
#include "host/fleet/registry.hpp"

namespace smg {

class FanOut {
 public:
  static constexpr std::size_t kMostAtOnce = 32;

  struct Answer {
    std::shared_ptr<Worker> worker;
    std::uint32_t status = 0;  // 0: none came, `failure` says why
    std::string content_type;
    std::string body;
    std::string failure;

    bool ok() const { return status >= 200 && status < 300; }
  };
  // Of each call.
  struct Limits {
    std::uint64_t timeout_ns;
    std::uint64_t max_response = 0;  // bytes; 0: the usual limit of calls
  };
  // In the order of the workers.
  using Done = std::function<void(std::vector<Answer> answers)>;

  FanOut(Calls& calls, std::string_view method, std::string_view path, const Limits& limits,
         std::vector<std::shared_ptr<Worker>> workers, Done done);
  ~FanOut();
  FanOut(const FanOut&) = delete;
  FanOut& operator=(const FanOut&) = delete;

  // REQUIRES: there are workers.
  void start();

 private:
  struct Slot {
    FanOut* owner;
    std::size_t index;
    std::uint64_t handle;  // 0: not running
  };
  static void answered(void* context, const smg_call_result* result);
  void ask_next();

  Calls& calls_;
  const std::string method_, path_;
  const Limits limits_;
  std::vector<Answer> answers_;
  std::vector<Slot> slots_;
  std::size_t asked_ = 0;
  std::size_t open_;
  Done done_;
};

}  // namespace smg
