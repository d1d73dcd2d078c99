// One instance of the transport: settings, services, and what each loop keeps for it.
//
// Made and destroyed on the control thread. Memory that a loop still has to give back at the end of
// its turn keeps the instance alive beyond destroy(): it counts its references.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "loop_state.hpp"
#include "services.hpp"
#include "settings.hpp"
#include "smg/transport.h"
#include "tls_context.hpp"

namespace smg::http {

class Transport {
 public:
  // Throws Error.
  Transport(const smg_host* host, const smg_sink* sink);
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  const Services& services() const { return services_; }
  const Settings& settings() const { return settings_; }
  const smg_sink& sink() const { return sink_; }
  LoopState& here() { return *loops_[services_.current_loop()]; }
  bool on_control_loop() const { return services_.current_loop() + 1 == loops_.size(); }

  // Made when the first worker needs it. Control thread; throws Error.
  const TlsContext& tls();

  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  ~Transport() = default;

  Services services_;
  Settings settings_;
  const smg_sink& sink_;
  std::unique_ptr<TlsContext> tls_;
  std::vector<std::unique_ptr<LoopState>> loops_;
  std::atomic<uint32_t> references_{1};
};

}  // namespace smg::http
