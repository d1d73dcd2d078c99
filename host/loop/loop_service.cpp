#include "host/loop/loop_service.hpp"

#include "host/base/plausible.hpp"
#include "host/base/views.hpp"
#include "host/plugin/host_context.hpp"

namespace smg {
namespace {

LoopGroup* g_loops = nullptr;
Resolver* g_resolver = nullptr;

void blame(const smg_host* host, Fault kind, std::string_view what) {
  context_of(host).faults().count(kind, what);
}

// The loop of the calling thread; nullptr, and counted, where there is none.
Loop* here(const smg_host* host, std::string_view what) {
  Loop* const loop = Loop::current();
  if (loop == nullptr) blame(host, Fault::wrong_thread, what);
  return loop;
}

std::uint32_t count(const smg_host*) noexcept {
  return g_loops->count();
}

std::uint32_t current(const smg_host*) noexcept {
  const Loop* loop = Loop::current();
  return loop == nullptr ? SMG_LOOP_NONE : loop->index();
}

smg_status watch(const smg_host* host, smg_watch* watch) noexcept {
  Loop* const loop = here(host, "loop.watch was called on a thread that is no loop");
  if (loop == nullptr) return SMG_E_THREAD;
  if (watch == nullptr || watch->fd < 0 || watch->ready == nullptr) {
    blame(host, Fault::bad_call, "loop.watch was given no watch, no function or no descriptor");
    return SMG_E_INVALID;
  }
  if (watch->host_state != 0) {
    blame(host, Fault::bad_call, "loop.watch was given a watch that is set already");
    return SMG_E_EXISTS;
  }
  return loop->watch(watch) ? SMG_OK : SMG_E_LIMIT;
}

void unwatch(const smg_host* host, smg_watch* watch) noexcept {
  Loop* const loop = here(host, "loop.unwatch was called on a thread that is no loop");
  if (loop == nullptr) return;
  if (watch == nullptr) return blame(host, Fault::bad_call, "loop.unwatch was given no watch");
  if (!loop->unwatch(watch)) {
    blame(host, Fault::wrong_thread, "loop.unwatch was called on another loop than loop.watch");
  }
}

void set_timer(const smg_host* host, smg_timer* timer, std::uint64_t due) noexcept {
  Loop* const loop = here(host, "loop.set_timer was called on a thread that is no loop");
  if (loop == nullptr) return;
  if (timer == nullptr || timer->fired == nullptr) {
    return blame(host, Fault::bad_call, "loop.set_timer was given no timer or no function");
  }
  loop->set_timer(timer, due);
}

void clear_timer(const smg_host* host, smg_timer* timer) noexcept {
  Loop* const loop = here(host, "loop.clear_timer was called on a thread that is no loop");
  if (loop == nullptr) return;
  if (timer == nullptr) return blame(host, Fault::bad_call, "loop.clear_timer was given no timer");
  loop->clear_timer(timer);
}

// False, and counted, if the task cannot be queued.
bool claim(const smg_host* host, smg_task* task) {
  if (task == nullptr || task->run == nullptr) {
    blame(host, Fault::bad_call, "loop.post or defer was given no task or no function");
    return false;
  }
  if (!Loop::claim(task)) {
    blame(host, Fault::bad_call,
          "loop.post or defer was given a task that waits already, or was not zeroed");
    return false;
  }
  return true;
}

void post(const smg_host* host, std::uint32_t loop, smg_task* task) noexcept {
  if (loop >= g_loops->count()) {
    return blame(host, Fault::bad_call, "loop.post was given the index of no loop");
  }
  if (claim(host, task)) g_loops->at(loop).post(task);
}

void defer(const smg_host* host, smg_task* task) noexcept {
  Loop* const loop = here(host, "loop.defer was called on a thread that is no loop");
  if (loop != nullptr && claim(host, task)) loop->defer(task);
}

smg_buffer scratch(const smg_host* host) noexcept {
  Loop* const loop = here(host, "loop.scratch was called on a thread that is no loop");
  return loop == nullptr ? smg_buffer{nullptr, 0} : loop->scratch();
}

std::uint64_t resolve(const smg_host* host, smg_view name, std::uint16_t port, smg_resolved_fn fn,
                      void* context) noexcept {
  static constexpr std::uint64_t kLongestName = 1024;
  const auto refuse = [&](Fault kind, std::string_view why) {
    blame(host, kind, why);
    if (fn != nullptr) {
      guarded(&context_of(host).faults(), "the answer of resolve",
              [&] { fn(context, nullptr, 0, view(why)); });
    }
    return std::uint64_t{0};
  };
  if (Loop::current() == nullptr) {
    return refuse(Fault::wrong_thread, "resolve was called on a thread that is no loop");
  }
  if (fn == nullptr || !plausible(name, kLongestName)) {
    return refuse(Fault::bad_call, "resolve was given no function, or a name that cannot be");
  }
  return g_resolver->resolve(text(name), port, fn, context, context_of(host).faults().number());
}

void cancel(const smg_host* host, std::uint64_t handle) noexcept {
  if (!g_resolver->cancel(handle)) {
    blame(host, Fault::wrong_thread, "resolve.cancel was called on another loop than resolve");
  }
}

}  // namespace

void install_loop_service(LoopGroup* loops, Resolver* resolver) {
  g_loops = loops;
  g_resolver = resolver;
}

const smg_loop_service& loop_service() {
  static constexpr smg_loop_service kTable{sizeof(smg_loop_service),
                                           0,
                                           count,
                                           current,
                                           watch,
                                           unwatch,
                                           set_timer,
                                           clear_timer,
                                           post,
                                           defer,
                                           scratch};
  return kTable;
}

const smg_resolve_service& resolve_service() {
  static constexpr smg_resolve_service kTable{sizeof(smg_resolve_service), 0, resolve, cancel};
  return kTable;
}

}  // namespace smg
