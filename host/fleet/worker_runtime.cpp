#include "host/fleet/worker_runtime.hpp"

#include <spdlog/spdlog.h>

#include <utility>

#include "host/base/views.hpp"
#include "host/fleet/registry.hpp"
#include "host/loop/loop.hpp"

namespace smg {
namespace {

std::uint32_t bits_of(Veto veto) {
  if (veto == Veto::none) return 0;
  return veto == Veto::unreachable ? SMG_STATE_UNREACHABLE : SMG_STATE_WEDGED;
}

}  // namespace

WorkerRuntime::WorkerRuntime(Registry& registry, Families& families, Bus& bus, std::string url,
                             std::uint64_t now)
    : registry_(registry),
      families_(families),
      bus_(bus),
      url_(std::move(url)),
      breaker_(BreakerLimits{},
               [this](BreakerState before, BreakerState after) { breaker_moved(before, after); }),
      liveness_(LivenessBounds{}, now, [this](const VetoChange& change) { veto_changed(change); }) {
}

void WorkerRuntime::show() {
  shown_.store(true, std::memory_order_relaxed);
  successes_ = families_.worker_cb_outcomes.with({url_, "success"});
  failures_ = families_.worker_cb_outcomes.with({url_, "failure"});
  failure_run_ = families_.worker_cb_failures.with({url_});
  success_run_ = families_.worker_cb_successes.with({url_});
  keys_.show_in(families_.worker_routing_keys_active.with({url_}));
  families_.worker_cb_state.with({url_}).set(0);
  failure_run_.set(0);
  success_run_.set(0);
  using enum BreakerState;
  for (const auto& [from, to] : {std::pair{closed, open},
                                 {open, half_open},
                                 {half_open, open},
                                 {half_open, closed},
                                 {open, closed}}) {
    families_.worker_cb_transitions.with({url_, name_of(from), name_of(to)});
  }
  for (const Veto veto : {Veto::unreachable, Veto::wedged}) {
    families_.worker_stalled.with({url_, name_of(veto)}).set(0);
    families_.worker_stall_transitions.with({url_, name_of(veto)});
  }
}

void WorkerRuntime::hide() {
  shown_.store(false, std::memory_order_relaxed);
  families_.worker_cb_state.with({url_}).set(-1);
  failure_run_.set(0);
  success_run_.set(0);
  for (const Veto veto : {Veto::unreachable, Veto::wedged}) {
    families_.worker_stalled.with({url_, name_of(veto)}).set(0);
  }
}

void WorkerRuntime::start_afresh(std::uint64_t now) {
  liveness_.start_afresh(now);
  breaker_.reset(now);
}

void WorkerRuntime::record(bool success, std::uint64_t now) {
  (success ? successes_ : failures_).add();
  const bool quiet =
      success && breaker_.state() == BreakerState::closed && breaker_.failures() == 0;
  if (quiet) return;
  breaker_.record(success, now);
  if (!shown_.load(std::memory_order_relaxed)) return;
  failure_run_.set(breaker_.failures());
  success_run_.set(breaker_.successes());
}

void WorkerRuntime::breaker_moved(BreakerState before, BreakerState after) {
  std::uint32_t bits = 0;
  if (after == BreakerState::open) bits = SMG_STATE_BREAKER_OPEN;
  if (after == BreakerState::half_open) bits = SMG_STATE_BREAKER_HALF_OPEN;
  registry_.set_bits(*this, SMG_STATE_BREAKER_OPEN | SMG_STATE_BREAKER_HALF_OPEN, bits);
  if (!shown_.load(std::memory_order_relaxed)) return;
  families_.worker_cb_state.with({url_}).set(static_cast<double>(after));
  families_.worker_cb_transitions.with({url_, name_of(before), name_of(after)}).add();
  failure_run_.set(breaker_.failures());
  success_run_.set(breaker_.successes());
  spdlog::info("circuit breaker of worker {}: {} -> {}", url_, name_of(before), name_of(after));
}

void WorkerRuntime::veto_changed(const VetoChange& change) {
  registry_.set_bits(*this, SMG_STATE_UNREACHABLE | SMG_STATE_WEDGED, bits_of(change.after));
  if (!shown_.load(std::memory_order_relaxed)) return;
  if (change.before != Veto::none) {
    families_.worker_stalled.with({url_, name_of(change.before)}).set(0);
  }
  if (change.after != Veto::none) {
    families_.worker_stalled.with({url_, name_of(change.after)}).set(1);
    families_.worker_stall_transitions.with({url_, name_of(change.after)}).add();
    spdlog::warn("Worker vetoed by liveness worker_url={} reason={} cause=\"{}\" contact_age_ms={}",
                 url_, name_of(change.after), change.cause, change.contact_age / 1'000'000);
  } else {
    spdlog::info("Worker re-admitted by liveness worker_url={} cause=\"{}\"", url_, change.cause);
  }
  if (change.reset_breaker) breaker_.reset(Loop::clock());
  smg_event_change event{};
  event.event.struct_size = sizeof event;
  event.event.type = SMG_EVENT_LIVENESS_CHANGED;
  event.event.worker_ref = ref.load(std::memory_order_relaxed);
  event.event.worker_url = view(url_);
  event.before = bits_of(change.before);
  event.after = bits_of(change.after);
  event.text = view(change.cause);
  bus_.publish(event.event);
}

}  // namespace smg
