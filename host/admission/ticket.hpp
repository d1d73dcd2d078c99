// A request's place in admission: waiting in a queue, or running.
//
// A heap object that belongs to one loop, whose thread calls all its functions; made once per
// connection and used for its requests one after the other. It is its own task: an Admission posts
// it to the loop to tell the holder what another loop has brought about. The fields below are
// guarded by the Admission's mutex unless they say otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "host/admission/admission.hpp"
#include "smg/host.h"

namespace smg {

class Tickets;

class AdmissionTicket : private smg_task {
 public:
  // Called on the ticket's loop, from a posted task. They may call the ticket.
  class Holder {
   public:
    virtual void admitted() = 0;
    // The request has to make room: end it, by kPreemptedRefusal or by an empty body, and leave().
    // Not called any more once begin_data() has returned true.
    virtual void preempted() = 0;

   protected:
    ~Holder() = default;
  };

  // `loop` has `post(smg_task*)`. REQUIRES: both outlive the ticket; made with `new`.
  template <class Loop>
  AdmissionTicket(Holder& holder, Loop& loop)
      : smg_task{run, nullptr},
        holder_(&holder),
        loop_(&loop),
        post_([](void* of, smg_task* task) { static_cast<Loop*>(of)->post(task); }) {}
  AdmissionTicket(const AdmissionTicket&) = delete;
  AdmissionTicket& operator=(const AdmissionTicket&) = delete;

  // While waiting: when to call expire(), ns; 0 otherwise.
  std::uint64_t deadline() const { return deadline_; }
  // The wait is over, says the caller's timer. A refusal: answer with it. nullopt: if deadline() is
  // 0, room was found meanwhile and Holder::admitted() is on its way; otherwise arm the timer for
  // deadline() again.
  std::optional<AdmissionRefusal> expire(std::uint64_t now);
  // The first byte of the answer's body is about to go out. True: from now on the request runs to
  // its end. False: it was preempted, Holder::preempted() is on its way; send no data.
  // Does not lock; may be called again, and always true for a ticket that holds nothing.
  bool begin_data();
  // Gives back whatever it holds, a place in the queue or room to run; no effect if nothing. The
  // holder is not called after it.
  void leave(std::uint64_t now);
  // leave(), and deletes the ticket: now, or when a task that is on its way has arrived. The holder
  // may be gone then.
  void abandon(std::uint64_t now);

 private:
  friend class Admission;
  friend class Limiter;
  friend class Scheduler;
  friend class Tickets;

  enum class State : std::uint8_t { idle, waiting, granted, running };
  enum class Data : std::uint8_t { preemptible, immune, preempted };

  ~AdmissionTicket() = default;
  static void run(smg_task* task);
  void arrive();

  Holder* holder_;  // of the loop; nullptr: abandoned
  void* loop_;
  void (*post_)(void* loop, smg_task* task);
  Admission* admission_ = nullptr;  // of the loop; the one it entered last
  std::uint64_t deadline_ = 0;      // of the loop
  std::atomic<Data> data_{Data::immune};

  State state_ = State::idle;
  bool on_its_way_ = false;      // the task is posted, or about to be
  bool tell_preempted_ = false;  // when it arrives
  std::uint8_t rank_ = 0;        // class of the scheduler
  bool counted_ = false;         // takes up room in its queue
  std::uint64_t entered_ = 0;    // ns
  std::uint64_t waited_ = 0;     // ns, set when granted
  AdmissionTicket* next_post_ = nullptr;
  Tickets* list_ = nullptr;  // that it is in
  AdmissionTicket* next_ = nullptr;
  AdmissionTicket* prev_ = nullptr;
};

}  // namespace smg
