// What PluginReload knows of a piece of work while it is under way. Control loop, but for the steps
// that run on the background thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/plugin_reload.hpp"

namespace smg {

struct PluginReload::Job {
  template <class Ref>
  struct Pair {
    Ref before, after;
  };

  Order order;                       // of a file, or
  std::optional<Reconfigure> other;  // another configuration for all of them
  std::string library;               // what metrics and events call it: the file's name without .so
  std::uint64_t copied = 0, tried = 0;  // when these steps had been passed
  std::uint64_t begun = 0;              // the running step
  std::optional<StagedLibrary> staged;
  PluginRegistry::Plugins plugins;
  PluginInstances::Options options;
  std::vector<Pair<PolicyPtr>> policies;
  PolicyChoice::Configured configured;  // with `other`
  std::vector<PolicyPtr> dismissed;     // likewise
  std::vector<Pair<TransportPtr>> transports;
  std::vector<Pair<MonitorPtr>> monitors;  // `before` is nullptr for a new one
  std::string failed_step;
  Outcome outcome;
};

}  // namespace smg
