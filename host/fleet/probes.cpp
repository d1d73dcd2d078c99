#include "host/fleet/probes.hpp"

#include <memory>
#include <string_view>
#include <unordered_map>

#include "host/base/plausible.hpp"
#include "host/base/views.hpp"

namespace smg {
namespace {

// A transport that has not answered by then breaks its promise.
constexpr std::uint64_t kGrace = 1'000'000'000;
constexpr unsigned kNumberShift = 56;  // where a ticket has the number of the transport's meter

struct Waiting : smg_timer {
  std::uint64_t ticket = 0;
  std::function<void(const smg_probe_result&)> done;
};

struct Probes {
  std::unordered_map<std::uint64_t, std::unique_ptr<Waiting>> waiting;
  std::uint64_t next = 1;
};

thread_local Probes t_probes;

smg_probe_result failure(std::string_view why) {
  smg_probe_result result{};
  result.struct_size = sizeof result;
  result.detail = view(why);
  return result;
}

bool plausible(const smg_probe_result& result) {
  using smg::plausible;
  if (!SMG_HAS(&result, labels) || !plausible(result.detail) || !plausible(result.runtime) ||
      result.model_count > kMostHeaders || result.label_count > kMostHeaders ||
      (result.model_count > 0 && result.models == nullptr) ||
      (result.label_count > 0 && result.labels == nullptr)) {
    return false;
  }
  for (std::uint32_t i = 0; i < result.model_count; ++i) {
    if (!plausible(result.models[i])) return false;
  }
  for (std::uint32_t i = 0; i < result.label_count; ++i) {
    if (!plausible(result.labels[i].key) || !plausible(result.labels[i].value)) return false;
  }
  return true;
}

// False: nobody waits for that one any more.
bool finish(std::uint64_t ticket, const smg_probe_result& result) {
  const auto node = t_probes.waiting.extract(ticket);
  if (node.empty()) return false;
  Loop::current()->clear_timer(node.mapped().get());
  node.mapped()->done(result);
  return true;
}

void answered(void* context, const smg_probe_result* result) noexcept {
  const std::uint64_t ticket = reinterpret_cast<std::uintptr_t>(context);
  const auto number = static_cast<std::uint32_t>(ticket >> kNumberShift);
  if (t_probes.next == 1) {  // nothing was ever asked on this thread
    FaultMeter::count_at(number, Fault::wrong_thread,
                         "a probe was answered on another than the control thread");
    return;
  }
  if (result != nullptr && plausible(*result)) {
    if (finish(ticket, *result)) return;
    FaultMeter::count_at(number, Fault::late_answer, "a probe was answered twice, or too late");
    return;
  }
  FaultMeter::count_at(number, Fault::bad_call, "a probe was answered with what cannot be");
  finish(ticket, failure("the transport answered the probe with what cannot be"));
}

void overdue(smg_timer* timer) {
  const std::uint64_t ticket = static_cast<Waiting*>(timer)->ticket;
  FaultMeter::count_at(static_cast<std::uint32_t>(ticket >> kNumberShift), Fault::late_answer,
                       "a probe was not answered in time");
  finish(ticket, failure("the transport did not answer the probe in time"));
}

}  // namespace

void start_probe(const Endpoint& endpoint, const smg_probe& probe,
                 std::function<void(const smg_probe_result& result)> done) {
  const smg_transport_api& api = endpoint.api();
  FaultMeter* const faults = endpoint.transport()->faults;
  const std::uint64_t number = faults == nullptr ? 0 : faults->number();
  const std::uint64_t ticket = t_probes.next++ | number << kNumberShift;
  auto waiting = std::make_unique<Waiting>();
  waiting->fired = overdue;
  waiting->ticket = ticket;
  waiting->done = std::move(done);
  Loop::current()->set_timer(waiting.get(), Loop::current()->now() + probe.timeout_ns + kGrace);
  t_probes.waiting.emplace(ticket, std::move(waiting));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the context is a number for whoever brings it back
  auto* const context = reinterpret_cast<void*>(static_cast<std::uintptr_t>(ticket));
  if (!guarded(faults, "probe", [&] { api.probe(endpoint.handle(), &probe, answered, context); })) {
    finish(ticket, failure("the transport threw an exception"));
  }
}

}  // namespace smg
