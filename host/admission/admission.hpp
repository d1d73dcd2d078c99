// Admission: how many requests may run at once, and who waits for room.
//
// One Admission serves the whole process, in one of two kinds: the Limiter (limiter.hpp), or the
// Scheduler (scheduler.hpp). A request asks with a ticket (ticket.hpp), before its
// body is read:
//
//   switch (admission.enter(ticket, {priority, tenant, now}, refusal)) {
//     case Answer::admitted: go on; ticket.leave(now) when the answer is finished or dropped.
//     case Answer::refused:  answer with `refusal`; the ticket holds nothing.
//     case Answer::waiting:  arm a timer for ticket.deadline(); Holder::admitted() is called when
//                            there is room. When the timer fires: ticket.expire(now).
//   }
//
// enter() and the ticket's functions: on the ticket's loop. The others: the control loop. One mutex
// guards all of it, held for some tens of ns; nothing is posted or called while it is held.
// An Admission must outlive its tickets, and the loops that run their tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>

#include "host/config/config.hpp"
#include "host/metrics/families.hpp"

namespace smg {

class AdmissionTicket;

// An answer in place of admission. The texts are constants.
struct AdmissionRefusal {
  std::uint32_t status = 0;
  std::string_view code;
  std::string_view message;
  std::uint32_t retry_after_secs = 0;
};

// What a request is answered that was preempted before its head went out; it also gets the header
// `X-SMG-Preempted: true`.
inline constexpr AdmissionRefusal kPreemptedRefusal{
    503, "scheduler_preempted", "The request made room for one of a higher priority", 1};

struct AdmissionRequest {
  std::string_view priority;  // value of x-smg-priority; empty: none
  std::string_view tenant;    // tenant key
  std::uint64_t now = 0;      // ns
};

// What the scheduler's capacity follows from: the healthy workers. Tell it at every change.
struct FleetCapacity {
  std::uint32_t workers = 0;
  std::uint32_t reporting = 0;  // of these with a label max_running_requests above 0
  std::uint64_t reported = 0;   // sum of those labels

  // Counts a healthy worker in; `label` is its max_running_requests, empty without one.
  void add(std::string_view label);
};

class Admission {
 public:
  enum class Answer { admitted, waiting, refused };
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  virtual ~Admission() = default;
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  // REQUIRES: the ticket holds nothing. Fills `refusal` if that is the answer.
  virtual Answer enter(AdmissionTicket& ticket, const AdmissionRequest& request,
                       AdmissionRefusal& refusal) = 0;

  // Takes over limits, classes and tenant policies; which of the two kinds it is stays as it was
  // made. Who waits goes on to wait for the time it was told.
  virtual void configure(const Config& config, std::uint64_t now) = 0;
  virtual void fleet_changed(const FleetCapacity& fleet, std::uint64_t now) = 0;
  // What is due by time alone: refilled tokens, starved waiters, gauges. Returns when it wants to
  // be called next; see make_admission for what may bring that nearer.
  virtual std::uint64_t tick(std::uint64_t now) = 0;

 protected:
  friend class AdmissionTicket;

  // Tickets whose holders have to be told something, gathered under the mutex. The destructor posts
  // their tasks: declare it before the lock.
  class Posts {
   public:
    Posts() = default;
    Posts(const Posts&) = delete;
    Posts& operator=(const Posts&) = delete;
    ~Posts();
    void add(AdmissionTicket& ticket);

   private:
    AdmissionTicket* first_ = nullptr;
    AdmissionTicket* last_ = nullptr;
  };

  Admission() = default;

  virtual bool expire(AdmissionTicket& ticket, std::uint64_t now, AdmissionRefusal& refusal) = 0;
  virtual void leave(AdmissionTicket& ticket, std::uint64_t now) = 0;
  // The holder is about to be told that it was admitted. Called with the mutex held.
  virtual void told(AdmissionTicket& ticket) = 0;

  std::mutex mutex_;
};

// The kind that `config` asks for. A scheduler that cannot start is told in the log, and the
// limiter serves in its place. `wake` is called, on any loop, when the next due time of tick() may
// be nearer than it said: have the control loop call tick() soon.
std::unique_ptr<Admission> make_admission(const Config& config, Families& families,
                                          std::function<void()> wake);

}  // namespace smg
