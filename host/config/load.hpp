// From a command line and a TOML file to a Config, in two steps.
//
//   ParsedCommand command = parse_command_line(arguments);
//   Result<std::string> text = read_file(command);
//   Result<Draft> draft = read_text(command, *text.value, command.config_file);  // host settings
//   ... load the libraries of draft.value->config.plugins.paths ...
//   Result<Config> config = finish(*draft.value, plugins);
//
// The second step needs the plugins' descriptors: they say which tables, keys and flags exist
// beyond the host's own. Problems of both steps come out together at the end; the first one alone
// fails when the file cannot be read or parsed. Any thread; nothing throws. A reload is the same
// calls with the same command.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "host/config/command_line.hpp"
#include "host/config/config.hpp"
#include "host/config/document.hpp"
#include "host/config/problems.hpp"
#include "smg/plugin.h"

namespace smg {

struct Draft {
  Config config;  // the host's settings: complete, plugin options and last checks aside
  std::string file;
  std::vector<PluginTable> plugin_tables;
  std::vector<FlagUse> plugin_flags;  // flags that are not the host's
  // Where a setting got its value, by "section.key": the beginning of a message about it.
  std::map<std::string, std::string, std::less<>> origins;
  std::unordered_set<std::string> endpoints;  // of the workers so far
  Problems problems;
};

// The text of the command's file; empty without one.
Result<std::string> read_file(const ParsedCommand& command);

// `file` is the name that messages show.
Result<Draft> read_text(const ParsedCommand& command, std::string_view toml, std::string file);

// `plugins` are those that the searched directories offer.
Result<Config> finish(Draft draft, std::span<const smg_plugin* const> plugins);

// `plugins describe NAME` and `plugins list`.
std::string describe_plugin(const smg_plugin& plugin);
std::string list_plugins(std::span<const smg_plugin* const> plugins);

// A few lines about what a configuration says, without secrets.
std::string summary(const Config& config);

}  // namespace smg
