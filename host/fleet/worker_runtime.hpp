// What one worker lives through: state word, live numbers, circuit breaker, liveness. Belongs to
// the URL and outlives replacements of the worker behind it.
//
// Any thread. Changes of breaker and veto reach the state word, metrics, log and bus from here.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "host/bus/bus.hpp"
#include "host/fleet/active_keys.hpp"
#include "host/fleet/breaker.hpp"
#include "host/fleet/worker_liveness.hpp"
#include "host/metrics/families.hpp"
#include "smg/worker.h"

namespace smg {

class Registry;

// The cache-line pair that plugins read.
struct alignas(128) LiveBlock {
  smg_worker_live live{};
};

class WorkerRuntime final : public LiveBlock {
 public:
  struct Settings {
    BreakerLimits breaker;
    LivenessBounds liveness;
  };

  WorkerRuntime(Registry& registry, Families& families, Bus& bus, std::string url,
                std::uint64_t now);

  const std::string& url() const { return url_; }
  Breaker& breaker() { return breaker_; }
  WorkerLiveness& liveness() { return liveness_; }
  ActiveKeys& keys() { return keys_; }

  // Shows its series, as a worker that comes into service has them; hides them when it has left.
  // What ends later does not bring them back.
  void show();
  void hide();
  // Other thresholds; runs and states stay, unless what they rest on is switched off.
  void configure(const Settings& settings, std::uint64_t now) {
    breaker_.configure(settings.breaker);
    liveness_.configure(now, settings.liveness);
  }
  // As if just registered: no veto, breaker closed. What runs on the worker goes on.
  void start_afresh(std::uint64_t now);

  // How an attempt ended, for the breaker and its metrics.
  void record(bool success, std::uint64_t now);

  // Of the worker that stands behind the URL now.
  std::atomic<std::uint64_t> ref{0};

 private:
  void breaker_moved(BreakerState before, BreakerState after);
  void veto_changed(const VetoChange& change);

  Registry& registry_;
  Families& families_;
  Bus& bus_;
  const std::string url_;
  Breaker breaker_;
  WorkerLiveness liveness_;
  ActiveKeys keys_{live.routing_keys};
  std::atomic<bool> shown_{false};
  Series successes_, failures_;
  Series failure_run_, success_run_;
};

}  // namespace smg
