// The options of plugins: their tables and flags, checked against what their descriptors declare.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/load.hpp"
#include "host/config/settings.hpp"
#include "smg/plugin.h"

namespace smg {

// `policy`, `transport`, `monitor`, and the way back; 0: no kind of plugin.
std::string_view plugin_kind_name(std::uint32_t kind);
std::uint32_t kind_of(std::string_view name);

// The option as a row of the table of settings, so that both are read and refused alike. Without
// what concerns a Config. Valid as long as the descriptor.
Setting option_setting(const smg_option& option);

// Names of the option's command-line flag, without dashes.
std::vector<std::string_view> flags_of(const smg_option& option);

// Fills draft.config.plugin_options and label_options for all plugins: defaults, then tables, then
// flags. What does not fit is added to draft.problems.
void read_plugin_options(Draft& draft, std::span<const smg_plugin* const> plugins);

// Adds a problem for each worker whose scheme no transport speaks.
void require_transports(Draft& draft, std::span<const smg_plugin* const> plugins);

// Adds a problem unless a plugin of that kind and name is there. `where` begins the message.
void require_plugin(Draft& draft, std::span<const smg_plugin* const> plugins, std::uint32_t kind,
                    std::string_view name, const std::string& where);

}  // namespace smg
