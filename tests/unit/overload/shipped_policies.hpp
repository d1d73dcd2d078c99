// Every policy of the plugin directory, as the gateway loads it, with its default options.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/config/plugin_options.hpp"
#include "host/fleet/snapshot.hpp"
#include "host/loop/loop_service.hpp"
#include "host/plugin/instance.hpp"
#include "host/plugin/registry.hpp"

namespace smg::test {

class ShippedPolicies {
 public:
  ShippedPolicies()
      : loops_(1), metrics_({.loops = 2}), bus_(Loop::clock, nullptr), resolver_(loops_) {
    install_loop_service(&loops_, &resolver_);
    loops_.start([](Loop&) {});
    std::string error;
    run_dir_ = RunDir::make("", error);
    plugins_ = std::make_unique<PluginRegistry>(*run_dir_);
    const std::string paths[] = {SMG_PLUGIN_DIR};
    plugins_->load_all(paths);
    Draft draft;
    read_plugin_options(draft, plugins_->descriptors());
    HostServices services = HostServices::basic();
    services.loop = &loop_service();
    services.metrics = &metrics_;
    services.bus = &bus_;
    for (const std::string& name : plugins_->names(SMG_KIND_POLICY)) {
      std::unique_ptr<PluginInstance> instance;
      on_control([&] {
        instance = PluginInstance::create(plugins_->find(SMG_KIND_POLICY, name), services,
                                          draft.config.plugin_options[{SMG_KIND_POLICY, name}],
                                          nullptr, error);
      });
      REQUIRE_MESSAGE(instance != nullptr, name << ": " << error);
      PolicyRef ref;
      ref.api = &instance->policy();
      ref.self = instance->self();
      ref.name = name;
      all.push_back(std::move(ref));
      instances_.push_back(std::move(instance));
    }
  }
  ~ShippedPolicies() {
    on_control([&] { instances_.clear(); });
    loops_.stop();
  }

  ShippedPolicies(const ShippedPolicies&) = delete;
  ShippedPolicies& operator=(const ShippedPolicies&) = delete;

  // On a loop's thread, where policies keep their caches.
  void on_loop(const std::function<void()>& body) { loops_.run_on(0, body); }

  std::vector<PolicyRef> all;

 private:
  // Policies are made and destroyed there.
  void on_control(const std::function<void()>& body) { loops_.run_on(loops_.data_count(), body); }

  LoopGroup loops_;
  Metrics metrics_;
  Bus bus_;
  Resolver resolver_;
  std::unique_ptr<RunDir> run_dir_;
  std::unique_ptr<PluginRegistry> plugins_;
  std::vector<std::unique_ptr<PluginInstance>> instances_;
};

}  // namespace smg::test
