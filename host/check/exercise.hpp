// One short life of an instance: created, asked for what it is there for, destroyed. What the smoke
// test does once and the long rules a thousand times.
#pragma once

#include <memory>
#include <string>

#include "host/check/rig.hpp"

namespace smg::check {

// What a trial came to. `rule` names what was broken and is empty if nothing was.
struct Trouble {
  std::string rule;
  std::string problem;

  explicit operator bool() const { return !rule.empty(); }
};

// `selections`: how often a policy is asked.
Trouble exercise(Rig& rig, const std::shared_ptr<const Plugin>& plugin,
                 const PluginOptions& options, int selections);

}  // namespace smg::check
