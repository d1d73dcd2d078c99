// The event bus: everybody may publish, each subscriber gets what it asked for, in order of
// publication.
//
// publish() copies the event and returns; one thread of the bus calls the subscribers. Each
// subscriber has a queue of its own. One that does not keep up loses the oldest events of its own
// queue, which is counted (dropped(), the metric smg_bus_events_dropped_total) and logged. Since
// there is a single thread, a subscriber that blocks inside its call delays the others, and their
// queues fill meanwhile: a subscriber hands long work to a thread or loop of its own.
//
// All functions are for any thread, the bus thread included, unless they say otherwise. No lock is
// held while a subscriber runs, so it may publish, subscribe and unsubscribe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "host/metrics/metrics.hpp"
#include "smg/host.h"

namespace smg {

class Bus {
 public:
  static constexpr std::size_t kDefaultCapacity = 1024;

  struct Subscriber {
    std::string name;  // in log and metrics
    std::uint64_t types = SMG_EVENT_MASK_ALL;
    smg_event_fn fn = nullptr;
    void* context = nullptr;
    std::size_t capacity = kDefaultCapacity;  // events; at least 1
  };

  // `clock` gives monotonic ns, from any thread. `dropped`: a family with the one label
  // `subscriber`, or nullptr.
  explicit Bus(std::function<std::uint64_t()> clock, Family* dropped = nullptr);
  ~Bus();  // stops
  Bus(const Bus&) = delete;
  Bus& operator=(const Bus&) = delete;

  // Sets sequence, and time if it is 0, in the copy. `event` is the head of the struct that its
  // type says. False: not delivered to anyone, because the type is unknown, the struct too short,
  // or the bus stopped.
  bool publish(const smg_event& event);

  // Returns a number for unsubscribe, never 0. Events published from now on are delivered.
  std::uint64_t subscribe(Subscriber subscriber);

  // When it returns, `fn` is not running and will not run again; what was queued is forgotten.
  // Called from inside that very `fn` it returns at once: the running call is the last one. Unknown
  // numbers have no effect. REQUIRES: the caller holds no lock that `fn` waits for.
  void unsubscribe(std::uint64_t subscription);

  // Events that this subscription lost; 0 if unknown.
  std::uint64_t dropped(std::uint64_t subscription) const;

  // Refuses further events, delivers those that are queued, and ends the thread. Idempotent.
  // REQUIRES: not called from a subscriber.
  void stop();

 private:
  struct Subscription {
    Subscriber subscriber;
    Series dropped_series;
    std::uint64_t dropped = 0;
    std::uint64_t dropped_logged = 0;
    std::deque<std::shared_ptr<const smg_event>> queue;
  };

  void run();
  std::shared_ptr<Subscription> next_ready() const;
  void log_losses(Subscription& subscription, std::unique_lock<std::mutex>& lock);

  const std::function<std::uint64_t()> clock_;
  Family* const dropped_family_;
  std::atomic<std::uint64_t> wanted_{0};  // union of the types of all subscriptions
  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable returned_;
  std::map<std::uint64_t, std::shared_ptr<Subscription>> subscriptions_;
  std::shared_ptr<Subscription> running_;  // whose fn is being called
  std::uint64_t next_id_ = 1;
  std::uint64_t next_sequence_ = 1;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace smg
