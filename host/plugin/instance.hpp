// One running instance of a plugin: created with its options, destroyed with the object.
//
// Made and destroyed on the control thread. The host's side (smg_host, subscriptions) belongs to
// the instance, and the plugin's library stays at least as long. Destruction first ends the
// instance's bus subscriptions, then calls destroy.
#pragma once

#include <memory>
#include <string>

#include "host/plugin/host_context.hpp"
#include "host/plugin/plugin.hpp"

namespace smg {

class PluginInstance {
 public:
  // `sink` is for transports, which need one; nullptr for the others. nullptr, and a sentence in
  // `error`, if the plugin cannot be created.
  static std::unique_ptr<PluginInstance> create(std::shared_ptr<const Plugin> plugin,
                                                const HostServices& services, PluginOptions options,
                                                const smg_sink* sink, std::string& error);
  // REQUIRES: no call into the instance is running or will come.
  ~PluginInstance();
  PluginInstance(const PluginInstance&) = delete;
  PluginInstance& operator=(const PluginInstance&) = delete;

  void* self() const { return self_; }
  const smg_host* host() const { return context_.host(); }
  const Plugin& plugin() const { return *plugin_; }
  FaultMeter& faults() { return context_.faults(); }
  // REQUIRES: of that kind.
  const smg_policy_api& policy() const { return plugin_->policy(); }
  const smg_transport_api& transport() const { return plugin_->transport(); }
  const smg_monitor_api& monitor() const { return plugin_->monitor(); }

 private:
  PluginInstance(std::shared_ptr<const Plugin> plugin, const HostServices& services,
                 PluginOptions options);
  smg_status create_self(const smg_sink* sink, smg_error* error);

  std::shared_ptr<const Plugin> plugin_;
  HostContext context_;
  void* self_ = nullptr;
  bool created_ = false;
};

}  // namespace smg
