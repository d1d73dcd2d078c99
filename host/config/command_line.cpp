#include "host/config/command_line.hpp"

#include <array>
#include <sstream>
#include <string_view>

#include "host/config/nearest.hpp"
#include "host/config/settings.hpp"

namespace smg {
namespace {

constexpr std::array<std::string_view, 4> kCommands = {"launch", "start", "check-config",
                                                       "plugins"};

bool is_flag(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9');
}

void append_flag(std::ostringstream& out, std::string_view flag, std::string_view value,
                 std::string_view help, std::string_view shown) {
  std::string left = "  --" + std::string(flag) + (value.empty() ? "" : " " + std::string(value));
  left.resize(std::max<std::size_t>(left.size() + 1, 48), ' ');
  out << left << help;
  if (!shown.empty()) out << " [" << shown << "]";
  out << "\n";
}

}  // namespace

ParsedCommand parse_command_line(std::span<const char* const> arguments) {
  ParsedCommand parsed;
  std::vector<std::string> words(arguments.begin(), arguments.end());
  std::size_t at = 0;
  if (at < words.size() && !is_flag(words[at])) {
    const std::string& name = words[at++];
    if (name == "check-config") {
      parsed.command = Command::kCheckConfig;
      if (at < words.size() && !is_flag(words[at])) {
        parsed.config_file = words[at++];
      } else {
        parsed.problems.add("check-config needs a file: smg check-config FILE");
      }
    } else if (name == "plugins") {
      const std::string verb = at < words.size() ? words[at++] : "";
      if (verb == "list") {
        parsed.command = Command::kPluginsList;
      } else if (verb == "describe" && at < words.size() && !is_flag(words[at])) {
        parsed.command = Command::kPluginsDescribe;
        parsed.plugin = words[at++];
      } else {
        parsed.problems.add("plugins needs a verb: smg plugins list, or smg plugins describe NAME");
      }
    } else if (name != "launch" && name != "start") {
      parsed.problems.add("unknown command '" + name + "'" + suggestion(name, kCommands) +
                          " (launch, check-config FILE, plugins list, plugins describe NAME)");
    }
  }
  while (at < words.size()) {
    const std::string word = words[at++];
    if (word == "-h" || word == "--help") {
      parsed.command = Command::kHelp;
      continue;
    }
    if (word == "-V" || word == "--version") {
      parsed.command = Command::kVersion;
      return parsed;
    }
    if (word == "--version-verbose") {
      parsed.command = Command::kVersionVerbose;
      return parsed;
    }
    if (!word.starts_with("--") || word.size() == 2) {
      parsed.problems.add("'" + word + "' stands where a flag is expected; flags begin with --");
      continue;
    }
    FlagUse use;
    use.name = word.substr(2);
    if (const std::size_t equals = use.name.find('='); equals != std::string::npos) {
      use.inline_value = use.name.substr(equals + 1);
      use.name.resize(equals);
    } else {
      while (at < words.size() && !is_flag(words[at])) use.words.push_back(words[at++]);
    }
    if (use.name == "config") {
      if (use.inline_value) use.words = {*use.inline_value};
      if (use.words.size() != 1) {
        parsed.problems.add("--config needs one file");
      } else {
        parsed.config_file = use.words[0];
      }
      continue;
    }
    parsed.flags.push_back(std::move(use));
  }
  return parsed;
}

std::string help_text(std::span<const smg_plugin* const> plugins) {
  std::ostringstream out;
  out << "smg [launch] [OPTIONS]            run the gateway\n"
         "smg check-config FILE [OPTIONS]   say whether it would start, and why not\n"
         "smg plugins list                  the plugins that are there\n"
         "smg plugins describe NAME         what one does, and its options\n"
         "\nOptions override the file. Those that take several values take them behind one "
         "another.\n\n";
  append_flag(out, "config", "FILE", "configuration in TOML", "");
  append_flag(out, "worker-urls", "URL...", "engines to route to", "");
  append_flag(out, "help", "", "this text (-h)", "");
  append_flag(out, "version", "", "version (-V); --version-verbose tells more", "");
  const Config defaults;
  std::string_view section;
  for (const auto& setting : all_settings()) {
    if (setting.flag.empty()) continue;
    if (setting.section != section) {
      section = setting.section;
      out << "\n[" << section << "]\n";
    }
    const std::string_view value = setting.kind == SettingKind::kBool      ? ""
                                   : setting.kind == SettingKind::kTexts   ? "TEXT..."
                                   : setting.kind == SettingKind::kNumbers ? "NUMBER..."
                                   : setting.kind == SettingKind::kMap     ? "ALIAS=NAME..."
                                   : setting.kind == SettingKind::kText    ? "TEXT"
                                                                           : "NUMBER";
    append_flag(out, setting.flag, value, setting.help, setting.shown(defaults));
    if (!setting.alias.empty()) append_flag(out, setting.alias, value, "the same", "");
    if (!setting.off_flag.empty()) append_flag(out, setting.off_flag, "", "the opposite", "");
  }
  for (const smg_plugin* plugin : plugins) {
    bool headed = false;
    for (std::uint32_t i = 0; i < plugin->option_count; ++i) {
      const smg_option& option = plugin->options[i];
      if (option.flag.size == 0) continue;
      if (!headed)
        out << "\n[plugin " << std::string_view(plugin->name.data, plugin->name.size) << "]\n";
      headed = true;
      append_flag(out, {option.flag.data, option.flag.size},
                  option.type == SMG_OPTION_BOOL ? "" : "VALUE",
                  {option.help.data, option.help.size},
                  {option.default_value.data, option.default_value.size});
    }
  }
  return out.str();
}

}  // namespace smg
