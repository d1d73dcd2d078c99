// Notes to the host about a worker, and control calls to one. Workers go by smg_worker.ref; a note
// about a worker that is gone is dropped. Notes on any thread, calls on the control thread.
#pragma once

#include "smg/cpp/host.hpp"
#include "smg/load.h"

namespace smg {

class Fleet {
 public:
  explicit Fleet(Host host)
      : host_(host.raw()), table_(host.require<smg_fleet_service>(SMG_SERVICE_FLEET)) {}

  void contact(uint64_t worker) const { table_->contact(host_, worker); }
  void progress(uint64_t worker, uint64_t tokens) const { table_->progress(host_, worker, tokens); }
  void connection_failed(uint64_t worker, std::string_view channel, std::string_view detail) const {
    table_->connection_failed(host_, worker, view(channel), view(detail));
  }
  void tracked_load(uint64_t worker, int32_t delta) const {
    table_->tracked_load(host_, worker, delta);
  }
  void prefill_pending(uint64_t worker, int64_t delta) const {
    table_->prefill_pending(host_, worker, delta);
  }
  void first_response(uint64_t worker, uint64_t prompt_tokens) const {
    table_->first_response(host_, worker, prompt_tokens);
  }
  void report(uint64_t worker, const smg_load_report& report) const {
    table_->report(host_, worker, &report);
  }

  // What `call` points to must stay valid until `done`. Returns a handle for cancel.
  uint64_t call(uint64_t worker, const smg_call& call, smg_call_fn done, void* context) const {
    return table_->call(host_, worker, &call, done, context);
  }
  void cancel(uint64_t handle) const { table_->cancel_call(host_, handle); }

 private:
  const smg_host* host_;
  const smg_fleet_service* table_;
};

}  // namespace smg
