// The command line: which command, and which flags with which words.
//
//   smg [launch|start] [OPTIONS]         (launch may be left out)
//   smg check-config FILE [OPTIONS]
//   smg plugins list|describe NAME [OPTIONS]
//   -V, --version, --version-verbose, -h, --help
//
// Flags are only split here. Their values are checked by load.hpp, because plugins bring flags of
// their own that are known later.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/config/problems.hpp"
#include "smg/plugin.h"

namespace smg {

enum class Command {
  kLaunch,
  kCheckConfig,
  kPluginsList,
  kPluginsDescribe,
  kVersion,
  kVersionVerbose,
  kHelp
};

// One flag as it stands there: `--name=inline_value`, or `--name words...`.
struct FlagUse {
  std::string name;  // without the dashes
  std::optional<std::string> inline_value;
  std::vector<std::string> words;
};

struct ParsedCommand {
  Command command = Command::kLaunch;
  std::string config_file;  // empty: none
  std::string plugin;       // what `plugins describe` is asked for
  std::vector<FlagUse> flags;
  Problems problems;  // not empty: print them and exit with code 2
};

// `arguments` are argv without the program's name.
ParsedCommand parse_command_line(std::span<const char* const> arguments);

// What --help prints: every flag, those of the given plugins included.
std::string help_text(std::span<const smg_plugin* const> plugins);

}  // namespace smg
