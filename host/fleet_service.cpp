#include "host/fleet_service.hpp"

#include <unordered_map>

#include "host/base/plausible.hpp"
#include "host/base/views.hpp"
#include "host/load/load_report.hpp"
#include "host/plugin/host_context.hpp"

namespace smg {
namespace {

FleetDesk& desk_of(const smg_host* host) {
  return *static_cast<FleetDesk*>(context_of(host).services().gateway);
}

std::uint64_t now() {
  const Loop* const loop = Loop::current();
  return loop == nullptr ? Loop::clock() : loop->now();
}

// Notes come per token: each thread remembers whom it has met, so that only a change of the fleet
// costs a lock.
struct Concerned {
  std::shared_ptr<WorkerRuntime> runtime;
  bool present;  // false: what was called so has been replaced or removed
};

Concerned concerned(const smg_host* host, std::uint64_t ref) {
  struct Met {
    const Registry* registry = nullptr;
    std::uint64_t generation = 0;
    std::unordered_map<std::uint64_t, Concerned> refs;
  };
  thread_local Met met;
  const Registry* const registry = desk_of(host).registry;
  if (registry == nullptr) return {};
  if (met.registry != registry || met.generation != registry->generation()) {
    met.registry = registry;
    met.generation = registry->generation();
    met.refs.clear();
  }
  if (const auto found = met.refs.find(ref); found != met.refs.end()) return found->second;
  Concerned fresh{registry->runtime_of(ref), registry->served(ref) != nullptr};
  if (fresh.runtime != nullptr) met.refs.emplace(ref, fresh);
  return fresh;
}

// What a channel tells of the worker. One that belonged to another engine, or key, tells nothing.
template <class Note>
void note(const smg_host* host, std::uint64_t ref, Note&& note) {
  if (const auto [runtime, present] = concerned(host, ref); present) note(*runtime);
}

// What a stream tells: it ends where it was begun, and counts there until then.
template <class Note>
void note_of_stream(const smg_host* host, std::uint64_t ref, Note&& note) {
  if (const auto runtime = concerned(host, ref).runtime) note(*runtime);
}

void contact(const smg_host* host, std::uint64_t ref) noexcept {
  note(host, ref, [](WorkerRuntime& runtime) { runtime.liveness().contact(now()); });
}

void progress(const smg_host* host, std::uint64_t ref, std::uint64_t) noexcept {
  note_of_stream(host, ref, [](WorkerRuntime& runtime) { runtime.liveness().progress(now()); });
}

void connection_failed(const smg_host* host, std::uint64_t ref, smg_view channel,
                       smg_view) noexcept {
  if (!plausible(channel)) {
    return context_of(host).faults().count(
        Fault::bad_call, "fleet.connection_failed was given a channel that cannot be");
  }
  note(host, ref,
       [&](WorkerRuntime& runtime) { runtime.liveness().connection_failed(now(), text(channel)); });
}

void tracked_load(const smg_host* host, std::uint64_t ref, std::int32_t delta) noexcept {
  note_of_stream(host, ref, [&](WorkerRuntime& runtime) {
    runtime.liveness().tracked_load(now(), delta);
    __atomic_fetch_add(&runtime.live.tracked_load, static_cast<std::uint32_t>(delta),
                       __ATOMIC_RELAXED);
  });
}

void prefill_pending(const smg_host* host, std::uint64_t ref, std::int64_t delta) noexcept {
  note_of_stream(host, ref,
                 [&](WorkerRuntime& runtime) { runtime.liveness().prefill_pending(now(), delta); });
}

void first_response(const smg_host* host, std::uint64_t ref, std::uint64_t tokens) noexcept {
  note_of_stream(host, ref,
                 [&](WorkerRuntime& runtime) { runtime.liveness().first_response(now(), tokens); });
}

// What a report says of the load waits for the control loop.
struct Pushed : smg_task {
  FleetDesk* desk;
  std::uint64_t ref;
  std::string source;
  LoadReport report;

  Pushed(FleetDesk& to, std::uint64_t worker, std::string name, const smg_load_report& from)
      : smg_task{}, desk(&to), ref(worker), source(std::move(name)), report(from, true) {}
};

void report(const smg_host* host, std::uint64_t ref, const smg_load_report* report) noexcept {
  FleetDesk& desk = desk_of(host);
  FaultMeter& faults = context_of(host).faults();
  if (report == nullptr || !plausible(*report)) {
    return faults.count(Fault::bad_call, "fleet.report was given a report that cannot be");
  }
  if (desk.registry == nullptr || (faults.fenced() && !faults.of_transport())) return;
  auto pushed = std::make_unique<Pushed>(desk, ref, context_of(host).instance(), *report);
  // Liveness hears of it now, in order with the other notes.
  note(host, ref, [&](WorkerRuntime& runtime) {
    runtime.liveness().report(now(), pushed->report.evidence());
  });
  pushed->run = [](smg_task* task) {
    const std::unique_ptr<Pushed> self(static_cast<Pushed*>(task));
    if (self->desk->loads == nullptr) return;
    if (const auto worker = self->desk->registry->served(self->ref)) {
      self->desk->loads->pushed(worker, self->report.view(), self->source);
    }
  };
  desk.control->post(pushed.release());
}

bool on_control(const smg_host* host) {
  const Loop* const loop = Loop::current();
  return loop != nullptr && loop == desk_of(host).control;
}

bool plausible_call(const smg_call* call, smg_call_fn done) {
  return call != nullptr && done != nullptr && SMG_HAS(call, max_response) &&
         plausible(call->method) && plausible(call->path) && plausible(call->body, kMostItems) &&
         plausible(call->headers, call->header_count);
}

std::uint64_t call(const smg_host* host, std::uint64_t ref, const smg_call* call, smg_call_fn done,
                   void* context) noexcept {
  FaultMeter& faults = context_of(host).faults();
  if (!on_control(host)) {
    faults.count(Fault::wrong_thread, "fleet.call was called on another than the control thread");
    return 0;
  }
  if (!plausible_call(call, done)) {
    faults.count(Fault::bad_call, "fleet.call was given no function, or a call that cannot be");
    return 0;
  }
  Calls* const calls = desk_of(host).calls;
  return calls == nullptr ? 0 : calls->start(ref, *call, done, context, faults.number());
}

void cancel_call(const smg_host* host, std::uint64_t handle) noexcept {
  if (!on_control(host)) {
    context_of(host).faults().count(
        Fault::wrong_thread, "fleet.cancel_call was called on another than the control thread");
  } else if (Calls* const calls = desk_of(host).calls) {
    calls->cancel(handle);
  }
}

}  // namespace

const smg_fleet_service& fleet_service() {
  static constexpr smg_fleet_service kService{
      sizeof(smg_fleet_service),
      0,
      contact,
      progress,
      connection_failed,
      tracked_load,
      prefill_pending,
      first_response,
      report,
      call,
      cancel_call,
  };
  return kService;
}

}  // namespace smg
