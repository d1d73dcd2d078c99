// The options that an instance is created with: defaults of its descriptor, and over them the table
// [kind.name] of a TOML file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "host/config/document.hpp"
#include "host/config/option_value.hpp"
#include "smg/plugin.h"

namespace smg::check {

// An empty table, and a sentence in `problem`, if the file cannot be read or parsed.
Node read_options_file(const std::filesystem::path& file, std::string& problem);

// Keys that the descriptor does not know are put into `unknown` and otherwise passed over. A value
// that does not fit is a sentence in `problem`.
PluginOptions options_for(const smg_plugin& plugin, const Node& document, std::string& problem,
                          std::vector<std::string>& unknown);

}  // namespace smg::check
