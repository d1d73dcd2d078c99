// Whether one worker is gone or frozen, judged by contact and progress.
//
// A worker that dies fails its channels; one that freezes keeps them open and answers polls, but
// produces nothing. The first is `unreachable`, judged by the age of the last contact; the second
// is `wedged`, judged by the age of the last progress, and only on evidence that there should have
// been some. At most one veto holds at a time. Neither touches the worker's status, and neither
// ends a running request.
//
// Any thread. What runs per token (contact, progress) is two relaxed stores while all is well;
// everything else takes a lock. All times are monotonic nanoseconds that the caller brings.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace smg {

// In nanoseconds. 0 has a meaning of its own for each.
struct LivenessBounds {
  std::uint64_t stall = 2'000'000'000;  // silence that makes a failed channel count; 0: none needed
  std::uint64_t wedge = 3'000'000'000;  // time without progress; 0: never wedged
  std::uint64_t stale = 15'000'000'000;  // silence of one that pushes records; 0: never stale
};

enum class Veto : std::uint8_t { none, unreachable, wedged };
std::string_view name_of(Veto veto);

// What one load report says about liveness.
struct LivenessEvidence {
  bool pushed = false;
  std::int64_t waiting = 0;
  // Pushed records only; a report of several ranks brings those of the rank that is silent longest.
  std::optional<std::uint32_t> silence_ms;
  bool reports_steps = false;
  std::optional<std::uint32_t> prefill_pending_tokens;
};

struct VetoChange {
  Veto before;
  Veto after;
  std::string_view cause;
  std::uint64_t contact_age;
  bool reset_breaker;  // the outage that opened it is over
};

class WorkerLiveness {
 public:
  // Called under the lock, so changes arrive in order. It must not call back.
  using Listener = std::function<void(const VetoChange&)>;

  WorkerLiveness(const LivenessBounds& bounds, std::uint64_t now, Listener listener);

  // Something came from the worker. `cause`: `contact` or `probe`.
  void contact(std::uint64_t now, std::string_view cause = "contact");
  // A token, a response message, a completion.
  void progress(std::uint64_t now);
  // A load poll or event stream failed at connection level.
  void connection_failed(std::uint64_t now, std::string_view channel);
  // Streaming generations whose tokens would be seen: +1 at dispatch, -1 at the end.
  void tracked_load(std::uint64_t now, std::int32_t delta);
  // Prompt tokens handed over without a first response yet.
  void prefill_pending(std::uint64_t now, std::int64_t delta);
  // The first response to a prompt: releases its tokens and measures the rate.
  void first_response(std::uint64_t now, std::uint64_t prompt_tokens);
  // A poll's answer or a pushed record. It is contact.
  void report(std::uint64_t now, const LivenessEvidence& evidence);
  // The channel that pushes records ended: what its last record said counts no more.
  void record_channel_ended();
  // The worker was registered anew: what was known of it counts no more. Its streams go on.
  void start_afresh(std::uint64_t now);
  // Other bounds. A veto stays until something ends it, unless its rule is off now or the bound is
  // wider than the silence that broke the old one.
  void configure(std::uint64_t now, const LivenessBounds& bounds);
  // The background check, every kCheckInterval.
  void check(std::uint64_t now);

  static constexpr std::uint64_t kCheckInterval = 250'000'000;

  Veto veto() const { return veto_.load(std::memory_order_relaxed); }
  std::int64_t tracked() const { return tracked_.load(std::memory_order_relaxed); }
  std::uint64_t prefill_rate() const {
    return rate_.load(std::memory_order_relaxed);
  }  // tokens/s; 0: not measured
  // How long the worker may go without progress now.
  std::uint64_t wedge_bound() const;

 private:
  std::uint64_t wedge_bound_locked() const;
  std::uint64_t contact_age(std::uint64_t now) const;
  std::uint64_t progress_age(std::uint64_t now) const;
  bool engine_is_silent(const LivenessEvidence& evidence) const;
  void set(std::uint64_t now, Veto veto, std::string_view cause);
  void contact_locked(std::uint64_t now, std::string_view cause);

  const Listener listener_;

  std::atomic<std::uint64_t> last_contact_;
  std::atomic<std::uint64_t> progress_clock_;
  std::atomic<std::int64_t> tracked_{0};
  std::atomic<std::int64_t> prefill_pending_{0};
  std::atomic<std::uint64_t> rate_{0};
  std::atomic<Veto> veto_{Veto::none};
  // True while contact or progress have more to do than to note the time.
  std::atomic<bool> watched_{false};

  mutable std::mutex mutex_;
  LivenessBounds bounds_;
  bool failure_pending_ = false;
  bool pushes_ = false;
  bool engine_stalled_ = false;
  std::int64_t previous_tracked_ = 0;
  std::int64_t previous_waiting_ = 0;
  // The open window of the rate's measurement.
  std::optional<std::uint64_t> window_opened_;
  std::uint64_t window_tokens_ = 0;
  std::uint64_t idle_since_ = 0;  // when no prompt was pending any more
};

}  // namespace smg
