// The command line: which command, and which flags with which words.
//
//   smg [launch|start] [OPTIONS]         (launch may be left out)
//   smg check-config FILE [OPTIONS]
//   smg plugins list|describe NAME [OPTIONS]
//   smg plugins new NAME --kind KIND --lang LANGUAGE [--dir DIR]
//   -V, --version, --version-verbose, -h, --help
//
// Flags are only split here. Their values are checked by load.hpp, because plugins bring flags of
// their own that are known later.
#pragma once

#include <cstdint>
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
  kPluginsNew,
  kVersion,
  kVersionVerbose,
  kHelp
};

// A flag and the words behind it. A flag that stands there several times is in the list once, with
// all words.
struct FlagUse {
  std::string name;  // without the dashes
  std::vector<std::string> words;
  std::uint32_t count = 1;
};

// The project that `plugins new` is asked for. Whether there is a template for it is not asked
// here.
struct NewPlugin {
  std::string name;
  std::string kind;
  std::string language;
  std::string directory;  // empty: named like the plugin
};

struct ParsedCommand {
  Command command = Command::kLaunch;
  std::string config_file;  // empty: none
  std::string plugin;       // what `plugins describe` is asked for
  NewPlugin new_plugin;
  std::vector<FlagUse> flags;
  Problems problems;  // not empty: print them and exit with code 2
};

// `arguments` are argv without the program's name.
ParsedCommand parse_command_line(std::span<const char* const> arguments);

// `--name word word`, for messages; `--name` where the words are secrets.
std::string printable_flag(const FlagUse& use);

// What --help prints: every flag, those of the given plugins included.
std::string help_text(std::span<const smg_plugin* const> plugins);

}  // namespace smg
