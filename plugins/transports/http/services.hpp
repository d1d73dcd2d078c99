// What this plugin asks of the host, looked up once. Copied freely; valid until destroy.
#pragma once

#include "smg/cpp/host.hpp"

namespace smg::http {

class Services {
 public:
  explicit Services(Host host)
      : host_(host.raw()),
        loop_(host.require<smg_loop_service>(SMG_SERVICE_LOOP)),
        clock_(host.require<smg_clock_service>(SMG_SERVICE_CLOCK)),
        resolve_(host.require<smg_resolve_service>(SMG_SERVICE_RESOLVE)) {}

  uint32_t loops() const { return loop_->count(host_); }
  uint32_t current_loop() const { return loop_->current(host_); }
  uint64_t now() const { return clock_->now(host_); }
  bool watch(smg_watch* watch) const { return loop_->watch(host_, watch) == SMG_OK; }
  void unwatch(smg_watch* watch) const { loop_->unwatch(host_, watch); }
  void set_timer(smg_timer* timer, uint64_t due) const { loop_->set_timer(host_, timer, due); }
  void clear_timer(smg_timer* timer) const {
    if (timer->host_link != nullptr) loop_->clear_timer(host_, timer);
  }
  void defer(smg_task* task) const { loop_->defer(host_, task); }
  smg_buffer scratch() const { return loop_->scratch(host_); }
  uint64_t resolve(std::string_view name, uint16_t port, smg_resolved_fn fn, void* context) const {
    return resolve_->resolve(host_, view(name), port, fn, context);
  }
  void cancel_resolve(uint64_t handle) const { resolve_->cancel(host_, handle); }

 private:
  const smg_host* host_;
  const smg_loop_service* loop_;
  const smg_clock_service* clock_;
  const smg_resolve_service* resolve_;
};

}  // namespace smg::http
