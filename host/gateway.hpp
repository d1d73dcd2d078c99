// The whole gateway: everything that runs between start and stop, put together in one place.
//
// Used from the main thread. start() gives a sentence when the gateway cannot run; then, as after
// shut_down(), the object can only be destroyed.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "host/bus/bus.hpp"
#include "host/config/config.hpp"
#include "host/fleet/endpoint.hpp"
#include "host/fleet/registry.hpp"
#include "host/fleet/startup.hpp"
#include "host/http/listener.hpp"
#include "host/loop/loop_group.hpp"
#include "host/loop/resolver.hpp"
#include "host/metrics/families.hpp"
#include "host/metrics/listener.hpp"
#include "host/plugin/instance.hpp"
#include "host/plugin/registry.hpp"

namespace smg {

class Gateway {
 public:
  Gateway(Config config, const PluginRegistry& plugins);
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  std::string start();
  // Readiness off, settle, stop accepting, wait for running answers, close. `hurry` set from
  // elsewhere ends the waiting.
  void shut_down(const std::atomic<bool>& hurry);

 private:
  struct PolicyEntry {
    std::unique_ptr<PluginInstance> instance;
    PolicyRef ref;
  };
  struct TransportEntry {
    std::unique_ptr<PluginInstance> instance;
    TransportRef ref;
  };

  struct Task : smg_task {
    Gateway* owner;
  };

  HostServices services();
  std::string create_policy(const std::string& name);
  // The transport for a worker, created at first use; nullptr and a sentence if there is none.
  const TransportRef* transport_for(const WorkerSpec& spec, std::string& error);
  std::string create_parts();  // [control]
  void announce_plugin(const PluginInstance& instance, std::string_view state);

  const Config config_;
  const PluginRegistry& plugins_;
  LoopGroup loops_;
  Metrics metrics_;
  Families families_;
  Bus bus_;
  Resolver resolver_;
  Endpoints endpoints_;
  std::map<std::string, PolicyEntry, std::less<>> policies_;
  std::map<std::string, TransportEntry, std::less<>> transports_;
  std::unique_ptr<Registry> registry_;
  Task publish_{};  // what changed in the registry during a turn
  std::unique_ptr<Startup> startup_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<MetricsListener> metrics_listener_;
};

}  // namespace smg
