// The options of one plugin: its table and flags, checked against what its descriptor declares.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/config/document.hpp"
#include "host/config/option_value.hpp"
#include "host/config/settings.hpp"
#include "smg/plugin.h"

namespace smg {

// The option as a row of the table of settings, so that both are read and refused alike. No set or
// shown.
Setting option_setting(const smg_plugin& plugin, const smg_option& option);

// What the descriptor gives without configuration. False, and why, if the descriptor contradicts
// itself.
bool default_options(const smg_plugin& plugin, PluginOptions& options, std::string& reason);

}  // namespace smg
