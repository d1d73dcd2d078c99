// The event loops, and call-backs as member functions. smg/host.h says what each call does and on
// which thread.
//
//   class Poller {
//     void tick() noexcept;
//     smg::Timer<&Poller::tick> timer_{*this};   // loop.set(timer_, clock.now() + 1'000'000'000);
//   };
// The structs are part of the owner and hold no memory of their own. They are not moved; clear a
// timer and unwatch a descriptor before the owner goes. The member functions are noexcept: nobody
// could hear of a failure.
#pragma once

#include <span>

#include "smg/cpp/host.hpp"

namespace smg {

namespace detail {
template <class>
struct OwnerOf;
template <class Owner, class Result, class... Arguments>
struct OwnerOf<Result (Owner::*)(Arguments...) noexcept> {
  using type = Owner;
};
}  // namespace detail

// Calls owner.Method(). Never early, late by at most 20 ms.
template <auto Method>
class Timer : public smg_timer {
  using Owner = typename detail::OwnerOf<decltype(Method)>::type;

 public:
  explicit Timer(Owner& owner) : smg_timer{}, owner_(&owner) {
    fired = [](smg_timer* self) { (static_cast<Timer*>(self)->owner_->*Method)(); };
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  bool is_set() const { return host_link != nullptr; }

 private:
  Owner* owner_;
};

// Calls owner.Method(events), where events are SMG_READY_*.
template <auto Method>
class Watch : public smg_watch {
  using Owner = typename detail::OwnerOf<decltype(Method)>::type;

 public:
  explicit Watch(Owner& owner) : smg_watch{}, owner_(&owner) {
    ready = [](smg_watch* self, uint32_t events) {
      (static_cast<Watch*>(self)->owner_->*Method)(events);
    };
    fd = -1;
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  Owner* owner_;
};

// Calls owner.Method().
template <auto Method>
class Task : public smg_task {
  using Owner = typename detail::OwnerOf<decltype(Method)>::type;

 public:
  explicit Task(Owner& owner) : smg_task{}, owner_(&owner) {
    run = [](smg_task* self) { (static_cast<Task*>(self)->owner_->*Method)(); };
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

 private:
  Owner* owner_;
};

class Loop {
 public:
  explicit Loop(Host host)
      : host_(host.raw()), table_(host.require<smg_loop_service>(SMG_SERVICE_LOOP)) {}

  uint32_t count() const { return table_->count(host_); }      // the last one is the control loop
  uint32_t current() const { return table_->current(host_); }  // or SMG_LOOP_NONE

  void watch(smg_watch& watch) const {
    const smg_status status = table_->watch(host_, &watch);
    if (status != SMG_OK) throw Error(status, "the loop refused to watch a file descriptor");
  }
  void unwatch(smg_watch& watch) const { table_->unwatch(host_, &watch); }
  void set(smg_timer& timer, uint64_t due) const { table_->set_timer(host_, &timer, due); }
  void clear(smg_timer& timer) const { table_->clear_timer(host_, &timer); }
  void post(uint32_t loop, smg_task& task) const { table_->post(host_, loop, &task); }
  void defer(smg_task& task) const { table_->defer(host_, &task); }
  std::span<char> scratch() const {
    const smg_buffer buffer = table_->scratch(host_);
    return {buffer.data, static_cast<std::size_t>(buffer.size)};
  }

 private:
  const smg_host* host_;
  const smg_loop_service* table_;
};

}  // namespace smg
