// GET /plugins and POST /plugins/{name}/reload.
//
// Control loop.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "host/admin/admin_reply.hpp"
#include "host/plugin/registry.hpp"
#include "host/plugin_instances.hpp"
#include "host/plugin_reload.hpp"

namespace smg {

class PluginRoutes {
 public:
  using Done = std::function<void(AdminReply reply)>;

  // All outlive the object.
  PluginRoutes(const PluginRegistry& plugins, PluginInstances& instances, PluginReload& reload)
      : plugins_(plugins), instances_(instances), reload_(reload) {}

  void list(const Done& done);
  // `name`: of a plugin, `kind.name` where several have it, or of a file without `.so`.
  void reload(std::string_view name, std::string_view query, const Done& done);

 private:
  const PluginRegistry& plugins_;
  PluginInstances& instances_;
  PluginReload& reload_;
};

}  // namespace smg
