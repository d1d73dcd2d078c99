// The faults of one plugin instance: counted, shown, and at some point too many.
//
// A fault is a call that broke the rules of the ABI, whichever side made it. When `max_faults` of
// them fall into one window the instance is fenced: the host gives its role to a safe default from
// then on. A fence is lifted by a new instance only.
//
// Owned by the instance's HostContext. All functions are for any thread; counting never allocates,
// locks or blocks but for the first faults of a kind, which are logged, and for the one that
// fences. Transports and monitors have a number as well, which their tickets carry: so a call that
// comes too late or on a foreign thread still names who made it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "host/metrics/metrics.hpp"

namespace spdlog {
class logger;
}

namespace smg {

class Bus;
struct HostServices;

enum class Fault : std::uint8_t {
  selection,     // a policy's answer: no such index, not eligible, a status that is none
  slow_select,   // took longer than its budget
  exception,     // came out of a call
  wrong_thread,  // a function was called where its tag forbids it
  late_call,     // to the sink, for a stream that has ended or was cancelled
  late_answer,   // to a poll or a probe: a second one, or one after the time was up
  bad_call,      // arguments that make no sense
};
std::string_view fault_name(Fault kind);

struct FaultLimits {
  std::uint32_t max_faults = 100;          // 0: never fence
  std::uint64_t window = 60'000'000'000u;  // ns
};

class FaultMeter {
 public:
  static constexpr std::uint32_t kMostNumbers = 256;

  // `instance`: kind and name, for example `policy.random`. `services` as of HostContext; what is
  // missing there is not told.
  FaultMeter(const HostServices& services, std::string_view instance);
  ~FaultMeter();
  FaultMeter(const FaultMeter&) = delete;
  FaultMeter& operator=(const FaultMeter&) = delete;

  // `what`: a sentence about it, cut at kLongestText bytes.
  void count(Fault kind, std::string_view what) noexcept;
  // The exception that is being handled came out of `call`. REQUIRES: inside a catch block.
  void count_exception(std::string_view call) noexcept;

  bool fenced() const { return fenced_.load(std::memory_order_relaxed); }
  bool of_transport() const { return kind_ == "transport"; }
  std::uint64_t total() const { return total_.load(std::memory_order_relaxed); }
  struct Last {
    Fault kind = Fault::selection;
    std::string text;  // empty: there was none
  };
  Last last() const;

  // 1 .. kMostNumbers - 1; 0 for policies, and where all numbers are in use.
  std::uint32_t number() const { return number_; }
  // Counts at the meter with that number; at that of strays if there is none.
  static void count_at(std::uint32_t number, Fault kind, std::string_view what) noexcept;
  static void count_exception_at(std::uint32_t number, std::string_view call) noexcept;
  // Takes the faults of nobody known until it is destroyed.
  void take_strays();

 private:
  static constexpr std::size_t kLongestText = 240;
  static constexpr std::size_t kKinds = 7;

  void remember(Fault kind, std::string_view what);
  void log(Fault kind, std::string_view what, std::uint64_t count) const;
  void fence(std::string_view what);

  const std::string instance_;
  const std::string_view kind_, name_;  // of the plugin, parts of instance_
  const FaultLimits limits_;
  const std::function<std::uint64_t()> now_;
  const std::shared_ptr<spdlog::logger> logger_;
  Bus* const bus_;
  std::array<Series, kKinds> series_;
  Series fenced_series_;
  std::array<std::atomic<std::uint64_t>, kKinds> counts_{};
  std::atomic<std::uint64_t> total_{0};
  std::atomic<bool> fenced_{false};
  // When the last max_faults of them were, a ring.
  const std::unique_ptr<std::atomic<std::uint64_t>[]> times_;
  mutable std::mutex mutex_;  // of the two below
  Fault last_kind_ = Fault::selection;
  std::array<char, kLongestText> last_text_{};
  std::size_t last_size_ = 0;
  std::uint32_t number_ = 0;
};

// Calls a plugin. False if it threw, which is counted. `call` names the function in `what`. The
// meter may be nullptr.
template <class Call>
bool guarded(FaultMeter* faults, std::string_view what, Call&& call) noexcept {
  try {
    call();
    return true;
  } catch (...) {
    if (faults != nullptr) {
      faults->count_exception(what);
    } else {
      FaultMeter::count_exception_at(0, what);
    }
    return false;
  }
}

}  // namespace smg
