// The whole gateway: everything that runs between start and stop, put together in one place.
//
// Used from the main thread. The steps of the start give a sentence when the gateway cannot run;
// then, as after shut_down(), the object can only be destroyed.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "host/access_log.hpp"
#include "host/admin/admin_api.hpp"
#include "host/admin/config_reload.hpp"
#include "host/admission/admission.hpp"
#include "host/auth/control_plane.hpp"
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
#include "host/plugin/registry.hpp"
#include "host/plugin_instances.hpp"
#include "host/plugin_reload.hpp"
#include "host/routing/sticky_keys.hpp"
#include "host/tls/server_tls.hpp"

namespace smg {

class Gateway final : private Registry::Observer, private ConfigReload::Target {
 public:
  // `source` is what a reload reads again.
  Gateway(Config config, PluginRegistry& plugins, ConfigSource source = {});
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
  struct Task : smg_task {
    Gateway* owner;
    bool waits;  // it has been put in a loop's list and has not run
  };
  struct Timer : smg_timer {
    Gateway* owner;
  };

  HostServices services();
  PolicyPtr make_policy(std::string_view name, PolicyChoice::Options which, std::string& error);
  std::string try_plugins() const;
  std::string create_parts();     // [control]
  std::string create_monitors();  // [control]
  void create_admission();        // [control]
  void wait_for_workers();
  void count_capacity();  // [control]
  void tick_admission();  // [control]
  void end_parts();       // [control]
  static void check(smg_timer* timer);

  // Registry::Observer
  void fleet_published() override;
  void worker_left(const Worker& worker) override;

  // ConfigReload::Target
  const Config& running() const override { return config_; }
  ConfigReload::Plugins plugins() const override;
  void apply(const Config& wanted, std::uint64_t plugins,
             const std::shared_ptr<ConfigChanges>& changes,
             std::function<void(std::string refusal)> done) override;
  // The part of it that has nothing to do with plugins. A sentence: nothing has changed.
  std::string apply_settings(const Config& wanted, const ConfigChanges& changes);

  Config config_;  // in force; control loop, once the gateway listens
  ConfigSource source_;
  PluginRegistry& plugins_;
  LoopGroup loops_;
  Metrics metrics_;
  Families families_;
  Bus bus_;
  Resolver resolver_;
  Endpoints endpoints_;
  FaultMeter strays_;  // of plugins that cannot be told
  std::unique_ptr<PluginInstances> instances_;
  std::unique_ptr<PolicyChoice> policies_;
  std::unique_ptr<Registry> registry_;
  Task publish_{};  // what changed in the registry during a turn
  FleetDesk desk_;
  std::unique_ptr<Calls> calls_;
  std::unique_ptr<LoadDesk> load_desk_;
  std::unique_ptr<LoadPoller> load_poller_;
  std::unique_ptr<HealthChecker> health_checker_;
  Timer check_{};  // liveness and breakers
  std::unique_ptr<Registration> registration_;
  std::unique_ptr<PluginReload> plugin_reload_;
  std::unique_ptr<ConfigReload> reload_;
  std::unique_ptr<AdminApi> admin_;
  std::unique_ptr<StickyKeys> sticky_;
  std::unique_ptr<ControlPlane> control_plane_;
  std::unique_ptr<Admission> admission_;
  Timer admission_tick_{};
  struct Wake : smg_task {
    Gateway* owner;
    std::atomic<bool> posted{false};
  };
  Wake admission_wake_{};
  std::unique_ptr<AccessLog> access_log_;
  std::unique_ptr<ServerTls> tls_;
  std::unique_ptr<Listener> listener_;
  Listener* listening_ = nullptr;  // the same while it is open; control thread
  std::unique_ptr<MetricsListener> metrics_listener_;
};

}  // namespace smg
