// The whole gateway: everything that runs between start and stop, put together in one place.
//
// Used from the main thread. The steps of the start give a sentence when the gateway cannot run;
// then, as after shut_down(), the object can only be destroyed.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "host/admin/admin_api.hpp"
#include "host/admin/config_reload.hpp"
#include "host/bus/bus.hpp"
#include "host/config/config.hpp"
#include "host/fleet/calls.hpp"
#include "host/fleet/endpoint.hpp"
#include "host/fleet/health_checker.hpp"
#include "host/fleet/policy_choice.hpp"
#include "host/fleet/registration.hpp"
#include "host/fleet/registry.hpp"
#include "host/fleet_service.hpp"
#include "host/http/listener.hpp"
#include "host/load/load_desk.hpp"
#include "host/load/load_poller.hpp"
#include "host/loop/loop_group.hpp"
#include "host/loop/resolver.hpp"
#include "host/metrics/families.hpp"
#include "host/metrics/listener.hpp"
#include "host/plugin/instance.hpp"
#include "host/plugin/registry.hpp"
#include "host/routing/sticky_keys.hpp"

namespace smg {

class Gateway final : private Registry::Observer, private ConfigReload::Target {
 public:
  // `source` is what a reload reads again.
  Gateway(Config config, const PluginRegistry& plugins, ConfigSource source = {});
  ~Gateway() override;
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  // Makes every plugin instance that the configuration asks for.
  std::string prepare();
  // Registers the workers. REQUIRES: prepare() had nothing to say.
  std::string add_workers();
  // Listens. REQUIRES: add_workers() had nothing to say.
  std::string start();
  // Reloads the configuration, if it came from a file.
  void reload_all();
  // Readiness off, settle, stop accepting, wait for running answers, close. `hurry` set from
  // elsewhere ends the waiting.
  void shut_down(const std::atomic<bool>& hurry);

 private:
  struct TransportEntry {
    std::unique_ptr<PluginInstance> instance;
    TransportRef ref;
  };

  struct Task : smg_task {
    Gateway* owner;
  };
  struct Timer : smg_timer {
    Gateway* owner;
  };

  HostServices services();
  // Whoever holds it last, on whatever thread, has the instance destroyed on the control thread.
  std::shared_ptr<const PolicyRef> make_policy(std::string_view name, PolicyChoice::Options which,
                                               std::string& error);
  // The transport for a worker, created at first use; nullptr and a sentence if there is none.
  const TransportRef* transport_for(const WorkerSpec& spec, std::string& error);
  std::string create_parts();     // [control]
  std::string create_monitors();  // [control]
  void end_parts();               // [control]
  static void check(smg_timer* timer);

  // Registry::Observer
  void fleet_published() override;
  void worker_left(const Worker& worker) override;

  // ConfigReload::Target
  const Config& running() const override { return config_; }
  ConfigReload::Plugins plugins() const override;
  std::string apply(const Config& wanted, ConfigChanges& changes,
                    std::function<void()> everywhere) override;
  // What becomes of [policy] and of options of plugins: takes changes.instances apart. A sentence:
  // nothing has changed.
  std::string apply_policy(const Config& wanted, ConfigChanges& changes);

  void announce_plugin(const PluginInstance& instance, std::string_view state);

  Config config_;  // in force; control loop, once the gateway listens
  ConfigSource source_;
  const PluginRegistry& plugins_;
  LoopGroup loops_;
  Metrics metrics_;
  Families families_;
  Bus bus_;
  Resolver resolver_;
  Endpoints endpoints_;
  std::unique_ptr<PolicyChoice> policies_;
  std::map<std::string, TransportEntry, std::less<>> transports_;
  std::unique_ptr<Registry> registry_;
  Task publish_{};  // what changed in the registry during a turn
  FleetDesk desk_;
  std::vector<std::unique_ptr<PluginInstance>> monitors_;
  std::unique_ptr<Calls> calls_;
  std::unique_ptr<LoadDesk> load_desk_;
  std::unique_ptr<LoadPoller> load_poller_;
  std::unique_ptr<HealthChecker> health_checker_;
  Timer check_{};  // liveness and breakers
  std::unique_ptr<Registration> registration_;
  std::unique_ptr<ConfigReload> reload_;
  std::unique_ptr<AdminApi> admin_;
  std::unique_ptr<StickyKeys> sticky_;
  std::unique_ptr<Listener> listener_;
  Listener* listening_ = nullptr;  // the same while it is open; control thread
  std::unique_ptr<MetricsListener> metrics_listener_;
};

}  // namespace smg
