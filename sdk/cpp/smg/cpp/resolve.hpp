// Host names to addresses without blocking. On a loop thread; the answer comes on the same one.
#pragma once

#include "smg/cpp/host.hpp"

namespace smg {

class Resolve {
 public:
  explicit Resolve(Host host)
      : host_(host.raw()), table_(host.require<smg_resolve_service>(SMG_SERVICE_RESOLVE)) {}

  // `fn` is called exactly once unless cancelled. Returns a handle for cancel, or 0 if `fn` ran
  // already.
  uint64_t resolve(std::string_view name, uint16_t port, smg_resolved_fn fn, void* context) const {
    return table_->resolve(host_, view(name), port, fn, context);
  }
  void cancel(uint64_t handle) const { table_->cancel(host_, handle); }

 private:
  const smg_host* host_;
  const smg_resolve_service* table_;
};

}  // namespace smg
