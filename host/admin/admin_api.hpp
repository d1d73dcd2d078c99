// The admin API and the calls that are about the fleet as a whole: workers, loads, caches, what the
// engines say of themselves, the configuration.
//
// Control loop. Each request gets one answer, now or later; those that are not answered when the
// object goes are dropped.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/admin/admin_reply.hpp"
#include "host/admin/background.hpp"
#include "host/admin/config_reload.hpp"
#include "host/admin/fan_out.hpp"
#include "host/admin/plugin_routes.hpp"
#include "host/fleet/calls.hpp"
#include "host/fleet/registration.hpp"
#include "host/fleet/registry.hpp"
#include "host/load/load_poller.hpp"
#include "host/routing/route.hpp"

namespace smg {

struct AdminRequest {
  Action action;
  std::string id;  // of the worker, from the path
  std::string query;
  std::string body;
};

class AdminApi {
 public:
  using Done = std::function<void(AdminReply reply)>;

  AdminApi(Loop& control, Registry& registry, Registration& registration, const LoadPoller& loads,
           Calls& calls, ConfigReload& reload, PluginRoutes plugins)
      : registry_(registry),
        registration_(registration),
        loads_(loads),
        calls_(calls),
        reload_(reload),
        plugins_(plugins),
        background_(control) {}
  AdminApi(const AdminApi&) = delete;
  AdminApi& operator=(const AdminApi&) = delete;

  void handle(const AdminRequest& request, const Done& done);

 private:
  using Workers = std::vector<std::shared_ptr<Worker>>;

  void add_worker(const AdminRequest& request, const Done& done);
  void list_workers(const AdminRequest& request, const Done& done);
  void get_worker(const AdminRequest& request, const Done& done);
  void replace_worker(const AdminRequest& request, const Done& done);
  void patch_worker(const AdminRequest& request, const Done& done);
  void delete_worker(const AdminRequest& request, const Done& done);
  void show_loads(const AdminRequest& request, const Done& done);
  void flush_cache(const Done& done);
  void engine_metrics(const Done& done);
  void reload_config(const Done& done);
  void ask_one(std::string_view path, const Done& done);

  // Those that serve the model that the query names; all without one. Nothing, and the answer is
  // given, if the query is wrong.
  std::optional<Workers> selected(const AdminRequest& request, const Done& done) const;
  Workers ready() const;
  void fan_out(std::string_view method, std::string_view path, const FanOut::Limits& limits,
               Workers workers, FanOut::Done done);

  Registry& registry_;
  Registration& registration_;
  const LoadPoller& loads_;
  Calls& calls_;
  ConfigReload& reload_;
  PluginRoutes plugins_;
  std::list<std::unique_ptr<FanOut>> running_;
  Background background_;
};

}  // namespace smg
