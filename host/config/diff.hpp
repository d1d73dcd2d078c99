// What a new configuration changes of the one that is in force, and what of it can be put in force
// without a restart.
//
// Names are "section.key", of a plugin's option "kind.plugin.option"; workers go by their URL. No
// value is in it, so no secret is. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "host/config/config.hpp"

namespace smg {

struct Setting;

// A reload puts it in force. [policy] is not among these, see ConfigChanges::instances.
bool is_live(const Setting& setting);

struct ConfigChanges {
  std::vector<std::string> applied;
  std::vector<std::string> restart_needed;
  // [policy] and options of plugins: whoever owns the instances moves them to one of the above.
  std::vector<std::string> instances;
  std::vector<std::string> workers_added, workers_removed, workers_changed;
  std::size_t unchanged = 0;  // settings, options and workers together

  // Something is in force now that was not.
  bool any() const {
    return !applied.empty() || !workers_added.empty() || !workers_removed.empty() ||
           !workers_changed.empty();
  }
};

ConfigChanges compare(const Config& running, const Config& wanted);

// Takes over what `applied` and the lists of workers name; the rest stays as it runs.
void take_live(Config& running, const Config& wanted);

}  // namespace smg
