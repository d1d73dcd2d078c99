// GET /events: the bus as server-sent events to one client.
//
// The bus thread renders and hands over; the loop sends. A client that reads too slowly loses
// events: a comment in the stream says how many. Two threads share it, so its end walks through
// both: see detach().
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "host/bus/event_json.hpp"
#include "host/http/listener_loop.hpp"

namespace smg {

class Connection;

class EventStream {
 public:
  // Begins the answer on the connection; nullptr if the query is wrong, then the connection has got
  // its answer.
  static EventStream* open(Connection& connection, ListenerLoop& env, std::string_view query);
  // The connection is gone; the stream deletes itself when the bus has let go of it.
  void detach();

 private:
  static constexpr std::size_t kMaxPending = 256 * 1024;
  struct Task : smg_task {
    EventStream* owner;
  };

  EventStream(Connection& connection, ListenerLoop& env, EventFilter filter);
  static void on_event(void* context, const smg_event* event);  // bus thread
  static void deliver(smg_task* task);                          // loop
  static void unsubscribe(smg_task* task);                      // control
  static void destroy(smg_task* task);                          // loop

  Connection* connection_;
  // Of its own: the listener may be gone before the last step.
  Loop& home_;
  Loop& control_;
  Bus& bus_;
  const EventFilter filter_;
  std::uint64_t subscription_ = 0;
  Task deliver_{};
  Task leave_{};
  std::mutex mutex_;
  std::string pending_;
  std::uint64_t pending_events_ = 0;
  std::uint64_t lost_ = 0;
  bool posted_ = false;
};

}  // namespace smg
