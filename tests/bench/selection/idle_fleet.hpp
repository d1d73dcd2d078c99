// A fleet for measuring selection, without engines.
#pragma once

#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "host/base/views.hpp"
#include "host/config/plugin_options.hpp"
#include "host/fleet/registry.hpp"
#include "host/loop/loop_service.hpp"
#include "host/plugin/instance.hpp"
#include "host/plugin/registry.hpp"

namespace smg {

// A fleet of workers that are ready and reachable by nobody: selection never talks to them.
class IdleFleet {
 public:
  IdleFleet(const std::string& policy_name, std::size_t workers,
            std::uint32_t type = SMG_WORKER_REGULAR)
      : loops_(1),
        metrics_({.loops = 2}),
        families_(metrics_),
        bus_(Loop::clock),
        endpoints_(loops_),
        resolver_(loops_) {
    install_loop_service(&loops_, &resolver_);
    std::string error;
    run_dir_ = RunDir::make("", error);
    plugins_ = std::make_unique<PluginRegistry>(*run_dir_);
    const std::string paths[] = {SMG_PLUGIN_DIR};
    plugins_->load_all(paths);
    HostServices services = HostServices::basic();
    services.loop = &loop_service();
    services.metrics = &metrics_;
    services.bus = &bus_;
    Draft draft;
    read_plugin_options(draft, plugins_->descriptors());
    loops_.start([](Loop& loop) { Metrics::bind_thread(loop.index()); });
    on_control([&] {
      policy_ = PluginInstance::create(plugins_->find(SMG_KIND_POLICY, policy_name), services,
                                       draft.config.plugin_options[{SMG_KIND_POLICY, policy_name}],
                                       nullptr, error);
    });
    if (policy_ == nullptr) std::abort();
    ref_.api = &policy_->policy();
    ref_.self = policy_->self();
    ref_.name = policy_name;
    transport_.open = [](void*, const smg_worker*, void** endpoint, smg_error*) -> smg_status {
      *endpoint = nullptr;
      return SMG_OK;
    };
    transport_.quiesce = transport_.close = [](void*) {};
    transport_ref_->api = &transport_;
    registry_ = std::make_unique<Registry>(
        endpoints_, families_, bus_,
        [this](std::string_view, const Worker*) {
          return std::shared_ptr<const PolicyRef>(std::shared_ptr<void>(), &ref_);
        },
        [] {});
    for (std::size_t i = 0; i < workers; ++i) {
      WorkerDescription description;
      description.url = "http://worker-" + std::to_string(i) + ":8000";
      description.models = {"meta-llama/Llama-3.1-8B-Instruct"};
      description.id = description.url;
      description.type = type;
      auto candidate = registry_->open(description, transport_ref_, error);
      const auto worker = registry_->add(std::move(*candidate), description);
      registry_->set_status(*worker, SMG_STATUS_READY);
    }
    registry_->publish();
  }
  ~IdleFleet() {
    registry_->remove_all();
    registry_.reset();
    while (!endpoints_.all_closed()) std::this_thread::yield();
    on_control([&] { policy_.reset(); });
    loops_.stop();
  }
  // The benchmark's body on a loop thread, where policies keep their caches.
  void on_loop(const std::function<void()>& body) { loops_.run_on(0, body); }
  Registry& registry() { return *registry_; }

 private:
  void on_control(const std::function<void()>& body) { loops_.run_on(loops_.data_count(), body); }

  LoopGroup loops_;
  Metrics metrics_;
  Families families_;
  Bus bus_;
  Endpoints endpoints_;
  Resolver resolver_;
  std::unique_ptr<RunDir> run_dir_;
  std::unique_ptr<PluginRegistry> plugins_;
  std::unique_ptr<PluginInstance> policy_;
  PolicyRef ref_;
  smg_transport_api transport_{};
  std::shared_ptr<TransportRef> transport_ref_ = std::make_shared<TransportRef>();
  std::unique_ptr<Registry> registry_;
};

}  // namespace smg
