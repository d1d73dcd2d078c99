// What stands behind the smg_host of one plugin instance.
//
// HostServices is what all instances share; HostContext adds what belongs to one: name, options,
// subscriptions. The tables of log, clock, options, metrics and bus are made here; those of loop,
// resolve and fleet are handed in by whoever owns the loops and the fleet, and find their way back
// by context_of(host).services().gateway.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "host/bus/bus.hpp"
#include "host/config/option_value.hpp"
#include "host/metrics/metrics.hpp"
#include "host/plugin/fault_meter.hpp"
#include "smg/host.h"

namespace spdlog {
class logger;
}

namespace smg {

// All of it outlives the instances. What is nullptr is a service that this host does not have.
struct HostServices {
  std::function<std::uint64_t()> now;      // [any] monotonic ns
  std::function<std::uint64_t()> unix_ms;  // [any]
  std::shared_ptr<spdlog::logger> logger;
  Metrics* metrics = nullptr;
  Bus* bus = nullptr;
  const smg_loop_service* loop = nullptr;
  const smg_resolve_service* resolve = nullptr;
  const smg_fleet_service* fleet = nullptr;
  void* gateway = nullptr;  // for the three tables above
  FaultLimits fault_limits;

  // System clocks and the default logger, nothing else.
  static HostServices basic();
};

class HostContext {
 public:
  // `instance` names it in log lines and as a bus subscriber, for example `policy.cache_aware`.
  HostContext(const HostServices& services, std::string instance, PluginOptions options);
  ~HostContext();  // drops the subscriptions that are left
  HostContext(const HostContext&) = delete;
  HostContext& operator=(const HostContext&) = delete;

  const smg_host* host() const { return &host_; }
  const HostServices& services() const { return services_; }
  const std::string& instance() const { return instance_; }
  FaultMeter& faults() { return faults_; }

  const OptionValue* option(std::string_view name) const;
  // The views of a list option, or nullptr.
  const std::vector<smg_view>* list(std::string_view name) const;

  std::uint64_t subscribe(std::uint64_t types, smg_event_fn fn, void* context);
  // Has no effect on a subscription of another instance.
  void unsubscribe(std::uint64_t subscription);
  void unsubscribe_all();

 private:
  // What the bus is given instead of the plugin's own function, so that its exceptions are caught.
  struct Listener {
    smg_event_fn fn;
    void* context;
    FaultMeter* faults;
  };

  const HostServices services_;
  const std::string instance_;
  FaultMeter faults_;
  const PluginOptions options_;
  std::map<std::string, std::vector<smg_view>, std::less<>> lists_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::unique_ptr<Listener>> subscriptions_;
  smg_host host_;
};

// REQUIRES: `host` is that of a HostContext.
inline HostContext& context_of(const smg_host* host) {
  return *static_cast<HostContext*>(host->context);
}

// What smg_host::service answers. [any]
const void* find_service(const smg_host* host, const char* id);

}  // namespace smg
