#include "host/check/services.hpp"

#include <string>

#include "host/check/rig.hpp"
#include "host/loop/loop_service.hpp"

namespace smg::check {
namespace {

Rig& rig_of(const smg_host* host) {
  return *static_cast<Rig*>(context_of(host).services().gateway);
}

bool complain(const smg_host* host, Complaints::Kind kind, const std::string& text) {
  rig_of(host).complaints().add(kind, text);
  return false;
}

bool on_loop(const smg_host* host, const char* function) {
  if (Loop::current() != nullptr) return true;
  return complain(host, Complaints::Kind::thread,
                  std::string(function) +
                      " was called on a thread that is no loop; come back to one with loop.post");
}

bool on_control(const smg_host* host, const char* function) {
  if (Loop::current() == &rig_of(host).loops().control()) return true;
  return complain(host, Complaints::Kind::thread,
                  std::string(function) +
                      " was called off the control loop; post to the last loop to get there");
}

bool given(const smg_host* host, bool present, const char* what) {
  return present || complain(host, Complaints::Kind::order, what);
}

}  // namespace

const smg_loop_service& checked_loop_service() {
  static constexpr smg_loop_service kTable{
      .struct_size = sizeof(smg_loop_service),
      .reserved = 0,
      .count = [](const smg_host* host) { return loop_service().count(host); },
      .current = [](const smg_host* host) { return loop_service().current(host); },
      .watch = [](const smg_host* host, smg_watch* watch) -> smg_status {
        if (!on_loop(host, "loop.watch")) return SMG_E_THREAD;
        if (!given(host, watch != nullptr && watch->ready != nullptr,
                   "loop.watch was given no `ready` function")) {
          return SMG_E_INVALID;
        }
        return loop_service().watch(host, watch);
      },
      .unwatch =
          [](const smg_host* host, smg_watch* watch) {
            if (on_loop(host, "loop.unwatch")) loop_service().unwatch(host, watch);
          },
      .set_timer =
          [](const smg_host* host, smg_timer* timer, std::uint64_t due) {
            if (!on_loop(host, "loop.set_timer")) return;
            if (!given(host, timer != nullptr && timer->fired != nullptr,
                       "loop.set_timer was given no `fired` function")) {
              return;
            }
            loop_service().set_timer(host, timer, due);
          },
      .clear_timer =
          [](const smg_host* host, smg_timer* timer) {
            if (on_loop(host, "loop.clear_timer")) loop_service().clear_timer(host, timer);
          },
      .post =
          [](const smg_host* host, std::uint32_t loop, smg_task* task) {
            if (!given(host, task != nullptr && task->run != nullptr,
                       "loop.post was given no `run` function") ||
                !given(host, loop < loop_service().count(host),
                       "loop.post was given a loop that there is not")) {
              return;
            }
            loop_service().post(host, loop, task);
          },
      .defer =
          [](const smg_host* host, smg_task* task) {
            if (!on_loop(host, "loop.defer")) return;
            if (!given(host, task != nullptr && task->run != nullptr,
                       "loop.defer was given no `run` function")) {
              return;
            }
            loop_service().defer(host, task);
          },
      .scratch = [](const smg_host* host) -> smg_buffer {
        static char nothing[64 * 1024];
        if (!on_loop(host, "loop.scratch")) return {nothing, sizeof nothing};
        given(host, !SinkDesk::inside_start(), "loop.scratch was used from within start()");
        return loop_service().scratch(host);
      },
  };
  return kTable;
}

const smg_resolve_service& checked_resolve_service() {
  static constexpr smg_resolve_service kTable{
      .struct_size = sizeof(smg_resolve_service),
      .reserved = 0,
      .resolve = [](const smg_host* host, smg_view name, std::uint16_t port, smg_resolved_fn fn,
                    void* context) -> std::uint64_t {
        if (!on_loop(host, "resolve.resolve")) return 0;
        if (!given(host, fn != nullptr, "resolve.resolve was given no function")) return 0;
        return resolve_service().resolve(host, name, port, fn, context);
      },
      .cancel =
          [](const smg_host* host, std::uint64_t handle) {
            if (on_loop(host, "resolve.cancel")) resolve_service().cancel(host, handle);
          },
  };
  return kTable;
}

const smg_fleet_service& checked_fleet_service() {
  static constexpr smg_fleet_service kTable{
      .struct_size = sizeof(smg_fleet_service),
      .reserved = 0,
      .contact = [](const smg_host* host, std::uint64_t) { rig_of(host).fleet().note(); },
      .progress = [](const smg_host* host, std::uint64_t,
                     std::uint64_t) { rig_of(host).fleet().note(); },
      .connection_failed = [](const smg_host* host, std::uint64_t, smg_view,
                              smg_view) { rig_of(host).fleet().note(); },
      .tracked_load = [](const smg_host* host, std::uint64_t,
                         std::int32_t delta) { rig_of(host).fleet().tracked(delta); },
      .prefill_pending = [](const smg_host* host, std::uint64_t,
                            std::int64_t) { rig_of(host).fleet().note(); },
      .first_response = [](const smg_host* host, std::uint64_t,
                           std::uint64_t) { rig_of(host).fleet().note(); },
      .report =
          [](const smg_host* host, std::uint64_t, const smg_load_report* report) {
            const std::string problem = report_problem(report);
            if (!problem.empty())
              complain(host, Complaints::Kind::order, "fleet.report: " + problem);
          },
      .call = [](const smg_host* host, std::uint64_t, const smg_call* call, smg_call_fn done,
                 void* context) -> std::uint64_t {
        if (!on_control(host, "fleet.call")) return 1;
        if (!given(host, call != nullptr && done != nullptr,
                   "fleet.call was given no call or no function")) {
          return 1;
        }
        return rig_of(host).fleet().call(*call, done, context);
      },
      .cancel_call =
          [](const smg_host* host, std::uint64_t handle) {
            if (on_control(host, "fleet.cancel_call")) rig_of(host).fleet().cancel(handle);
          },
  };
  return kTable;
}

}  // namespace smg::check
