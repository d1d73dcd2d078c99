// The event bus. A subscriber is a member function `void on_event(const smg_event&) noexcept`,
// called on the bus thread in order of publication:
//   smg::Subscription reports_ = bus.subscribe<&MyPolicy::on_event>(
//       SMG_EVENT_MASK(SMG_EVENT_LOAD_REPORT), *this);
// Make it the last member of its class: once it is destroyed the function is not running and will
// not run again.
#pragma once

#include <type_traits>
#include <utility>

#include "smg/cpp/host.hpp"
#include "smg/events.h"

namespace smg {

class Subscription {
 public:
  Subscription() = default;
  Subscription(Subscription&& other) noexcept
      : host_(other.host_), table_(std::exchange(other.table_, nullptr)), handle_(other.handle_) {}
  Subscription& operator=(Subscription&& other) noexcept {
    std::swap(host_, other.host_);
    std::swap(table_, other.table_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Subscription() {
    if (table_ != nullptr) table_->unsubscribe(host_, handle_);
  }

 private:
  friend class Bus;
  Subscription(const smg_host* host, const smg_bus_service* table, uint64_t handle)
      : host_(host), table_(table), handle_(handle) {}

  const smg_host* host_ = nullptr;
  const smg_bus_service* table_ = nullptr;
  uint64_t handle_ = 0;
};

class Bus {
 public:
  explicit Bus(Host host)
      : host_(host.raw()), table_(host.require<smg_bus_service>(SMG_SERVICE_BUS)) {}

  // [any] `types`: SMG_EVENT_MASK bits.
  template <auto Method, class Owner>
  [[nodiscard]] Subscription subscribe(uint64_t types, Owner& owner) const {
    static_assert(std::is_nothrow_invocable_v<decltype(Method), Owner&, const smg_event&>,
                  "a subscriber is `void on_event(const smg_event&) noexcept`");
    const smg_event_fn deliver = [](void* context, const smg_event* event) {
      (static_cast<Owner*>(context)->*Method)(*event);
    };
    return Subscription(host_, table_, table_->subscribe(host_, types, deliver, &owner));
  }

  // [any] Copies the event.
  void publish(const smg_event& event) const { table_->publish(host_, &event); }

 private:
  const smg_host* host_;
  const smg_bus_service* table_;
};

}  // namespace smg
