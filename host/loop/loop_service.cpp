#include "host/loop/loop_service.hpp"

#include <cassert>

#include "host/base/views.hpp"

namespace smg {
namespace {

LoopGroup* g_loops = nullptr;
Resolver* g_resolver = nullptr;

Loop& here() {
  assert(Loop::current() != nullptr && "a [loop] function was called on a thread that is no loop");
  return *Loop::current();
}

}  // namespace

void install_loop_service(LoopGroup* loops, Resolver* resolver) {
  g_loops = loops;
  g_resolver = resolver;
}

const smg_loop_service& loop_service() {
  static constexpr smg_loop_service kTable{
      .struct_size = sizeof(smg_loop_service),
      .reserved = 0,
      .count = [](const smg_host*) { return g_loops->count(); },
      .current =
          [](const smg_host*) {
            const Loop* loop = Loop::current();
            return loop == nullptr ? SMG_LOOP_NONE : loop->index();
          },
      .watch = [](const smg_host*, smg_watch* watch) -> smg_status {
        if (watch->fd < 0 || watch->ready == nullptr) return SMG_E_INVALID;
        return here().watch(watch) ? SMG_OK : SMG_E_LIMIT;
      },
      .unwatch = [](const smg_host*, smg_watch* watch) { here().unwatch(watch); },
      .set_timer = [](const smg_host*, smg_timer* timer,
                      std::uint64_t due) { here().set_timer(timer, due); },
      .clear_timer = [](const smg_host*, smg_timer* timer) { here().clear_timer(timer); },
      .post =
          [](const smg_host*, std::uint32_t loop, smg_task* task) {
            if (loop < g_loops->count()) g_loops->at(loop).post(task);
          },
      .defer = [](const smg_host*, smg_task* task) { here().defer(task); },
      .scratch = [](const smg_host*) { return here().scratch(); },
  };
  return kTable;
}

const smg_resolve_service& resolve_service() {
  static constexpr smg_resolve_service kTable{
      .struct_size = sizeof(smg_resolve_service),
      .reserved = 0,
      .resolve = [](const smg_host*, smg_view name, std::uint16_t port, smg_resolved_fn fn,
                    void* context) { return g_resolver->resolve(text(name), port, fn, context); },
      .cancel = [](const smg_host*, std::uint64_t handle) { g_resolver->cancel(handle); },
  };
  return kTable;
}

}  // namespace smg
