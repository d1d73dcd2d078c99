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
#include "tls_source.hpp"

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

  // How that worker is to be met. Control thread; throws Error.
  std::shared_ptr<const TlsSource> tls(const smg_worker& worker) {
    return tls_.get(settings_.tls.for_worker(worker));
  }

  // Of destroy().
  void end() {
    tls_.stop();
    release();
  }
  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  ~Transport() = default;

  Services services_;
  Settings settings_;
  const smg_sink& sink_;
  TlsSources tls_;
  std::shared_ptr<const TlsSource> common_tls_;  // of the options, if they say anything
  std::vector<std::unique_ptr<LoopState>> loops_;
  std::atomic<uint32_t> references_{1};
};

}  // namespace smg::http
