// The running instances of plugins: made with the options of the configuration, shared by those who
// use them, destroyed on the control loop when the last of these lets go.
//
// Control loop, but for letting go. An instance is never destroyed within a call of its own: that
// waits for a later turn.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/bus/bus.hpp"
#include "host/fleet/endpoint.hpp"
#include "host/fleet/policy_choice.hpp"
#include "host/fleet/snapshot.hpp"
#include "host/load/load_poller.hpp"
#include "host/metrics/families.hpp"
#include "host/plugin/instance.hpp"
#include "host/plugin/registry.hpp"
#include "host/plugin/smoke_test.hpp"

namespace smg {

class PluginInstances {
 public:
  // Of all plugins, and of policies that a label asks for: see Config.
  struct Options {
    OptionTables configured, by_label;
  };

  // `services` are those that an instance gets.
  PluginInstances(Loop& control, const PluginRegistry& plugins, Families& families, Bus& bus,
                  std::function<HostServices()> services, Options options);

  // nullptr, and a sentence in `error`, if the instance cannot be made.
  PolicyPtr make_policy(const std::shared_ptr<const Plugin>& plugin, PolicyChoice::Options which,
                        const Options& options, std::string& error);
  TransportPtr make_transport(const std::shared_ptr<const Plugin>& plugin, const Options& options,
                              std::string& error);
  MonitorPtr make_monitor(const std::shared_ptr<const Plugin>& plugin, const Options& options,
                          std::string& error);

  // The transport for a worker, made at first use; nullptr and a sentence if there is none.
  TransportPtr transport_for(const WorkerSpec& spec, std::string& error);
  // The instance in service, or nullptr.
  TransportPtr transport(std::string_view name) const;
  // `after` serves from now on, also workers that are still being added through an older one:
  // settle() moves them.
  void replace_transport(const TransportPtr& after);
  void settle(Registry& registry);
  // No new worker is served any more.
  void drop_transports() { transports_.clear(); }

  const Options& options() const { return options_; }
  void set_options(Options options) { options_ = std::move(options); }

  void announce(std::string_view plugin, std::string_view state);

  // One instance that somebody holds.
  struct Record {
    std::weak_ptr<const void> ref;  // what its users share
    std::uint32_t kind;
    std::string name;
    std::uint64_t generation;      // of its library
    std::uint64_t superseded = 0;  // when another one took its place; 0: it serves
    const FaultMeter* faults;      // of the instance, as long as `ref` is held
    bool late = false;             // it was said that it does not come to an end
  };
  // Those that are still held.
  std::vector<Record>& records();
  void supersede(const std::shared_ptr<const void>& ref);

  // Instances that are not destroyed yet. [any]
  std::uint32_t alive() const { return alive_.load(std::memory_order_acquire); }

 private:
  struct Farewell;
  std::shared_ptr<PluginInstance> make(const std::shared_ptr<const Plugin>& plugin,
                                       const OptionTables& tables, const smg_sink* sink,
                                       std::string& error);
  void record(const std::shared_ptr<const void>& ref, PluginInstance& instance);

  Loop& control_;
  const PluginRegistry& plugins_;
  Families& families_;
  Bus& bus_;
  const std::function<HostServices()> services_;
  Options options_;
  std::map<std::string, TransportPtr, std::less<>> transports_;  // in service, by name
  std::vector<std::weak_ptr<const TransportRef>> superseded_;
  std::vector<Record> records_;
  std::atomic<std::uint32_t> alive_{0};
};

}  // namespace smg
