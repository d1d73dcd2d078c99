#include "host/config/command_line.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <utility>

#include "host/config/nearest.hpp"
#include "host/config/plugin_options.hpp"
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

// The command and its operands; returns where the options begin.
std::size_t parse_command(const std::vector<std::string>& words, ParsedCommand& parsed) {
  std::size_t at = 0;
  const auto operand = [&] { return at < words.size() && !is_flag(words[at]); };
  if (!operand()) return at;
  const std::string& name = words[at++];
  if (name == "launch" || name == "start") return at;
  if (name == "check-config") {
    parsed.command = Command::kCheckConfig;
    if (operand()) parsed.config_file = words[at++];
    return at;
  }
  if (name != "plugins") {
    parsed.problems.add("unknown command '" + name + "'" + suggestion(name, kCommands) +
                        " (launch, check-config FILE, plugins list, plugins describe NAME, "
                        "plugins new NAME)");
    return words.size();
  }
  const std::string verb = operand() ? words[at++] : "";
  if (verb == "list") {
    parsed.command = Command::kPluginsList;
  } else if (verb == "describe" && operand()) {
    parsed.command = Command::kPluginsDescribe;
    parsed.plugin = words[at++];
  } else if (verb == "new" && operand()) {
    parsed.command = Command::kPluginsNew;
    parsed.new_plugin.name = words[at++];
  } else {
    parsed.problems.add(
        "say what to do with plugins: smg plugins list, smg plugins describe NAME, or "
        "smg plugins new NAME --kind policy --lang c++");
    return words.size();
  }
  return at;
}

void add_use(std::vector<FlagUse>& uses, FlagUse use) {
  // A second name of a flag counts as the flag.
  if (const Setting* setting = find_flag(use.name);
      setting != nullptr && setting->alias == use.name)
    use.name = setting->flag;
  const auto same = std::find_if(uses.begin(), uses.end(),
                                 [&](const FlagUse& other) { return other.name == use.name; });
  if (same == uses.end()) {
    uses.push_back(std::move(use));
    return;
  }
  same->words.insert(same->words.end(), use.words.begin(), use.words.end());
  ++same->count;
}

// The flags of `plugins new`, which are its own: no other command has them, and it has no other.
void take_new_plugin(ParsedCommand& parsed) {
  NewPlugin& wish = parsed.new_plugin;
  for (const FlagUse& use : std::exchange(parsed.flags, {})) {
    std::string* const place = use.name == "kind"   ? &wish.kind
                               : use.name == "lang" ? &wish.language
                               : use.name == "dir"  ? &wish.directory
                                                    : nullptr;
    if (place == nullptr) {
      parsed.problems.add("--" + printable_text(use.name) +
                          ": smg plugins new takes --kind, --lang and --dir");
    } else if (use.words.size() != 1 || use.words[0].empty()) {
      parsed.problems.add("--" + use.name + " needs one value");
    } else {
      *place = use.words[0];
    }
  }
  if (!parsed.problems.empty()) return;
  if (wish.kind.empty()) parsed.problems.add("--kind is missing: policy, transport or monitor");
  if (wish.language.empty()) parsed.problems.add("--lang is missing: c++, c or rust");
}

bool is_secret(const std::string& flag) {
  const Setting* setting = find_flag(flag);
  return setting != nullptr && setting->secret;
}

void take_config(ParsedCommand& parsed, const FlagUse& use) {
  if (use.words.size() != 1 || use.words[0].empty()) {
    parsed.problems.add("--config needs one file");
  } else if (!parsed.config_file.empty()) {
    parsed.problems.add("--config " + use.words[0] + ": there is a file already, " +
                        parsed.config_file);
  } else {
    parsed.config_file = use.words[0];
  }
}

}  // namespace

ParsedCommand parse_command_line(std::span<const char* const> arguments) {
  ParsedCommand parsed;
  const std::vector<std::string> words(arguments.begin(), arguments.end());
  // These answer whatever else stands there.
  for (const auto& word : words) {
    if (word == "-V" || word == "--version") parsed.command = Command::kVersion;
    if (word == "--version-verbose") parsed.command = Command::kVersionVerbose;
    if (parsed.command != Command::kLaunch) return parsed;
  }
  std::size_t at = parse_command(words, parsed);
  std::string secret;  // the flag before, if its value is one
  while (at < words.size()) {
    const std::string& word = words[at++];
    if (word == "-h" || word == "--help") {
      parsed.command = Command::kHelp;
      continue;
    }
    if (!word.starts_with("--") || word.size() == 2) {
      parsed.problems.add(
          secret.empty() ? "'" + printable_text(word) +
                               "' stands where a flag is expected; flags begin with --"
                         : "what stands behind --" + secret +
                               " is no flag; a value that begins with - or has blanks in it is "
                               "written as --" +
                               secret + "=\"VALUE\"");
      continue;
    }
    FlagUse use;
    use.name = word.substr(2);
    if (const std::size_t equals = use.name.find('='); equals != std::string::npos) {
      use.words = {use.name.substr(equals + 1)};
      use.name.resize(equals);
    } else {
      while (at < words.size() && !is_flag(words[at])) use.words.push_back(words[at++]);
    }
    secret = is_secret(use.name) ? use.name : "";
    // Without a value, what follows may be it, if it is no flag that is known by now.
    if (!secret.empty() && use.words.empty() && at < words.size() && words[at].size() > 2 &&
        find_flag(words[at].substr(2, words[at].find('=') - 2)) == nullptr) {
      parsed.problems.add("--" + secret +
                          " needs a value; one that begins with - is written as --" + secret +
                          "=VALUE");
      ++at;
      continue;
    }
    if (use.name == "config") {
      take_config(parsed, use);
    } else {
      add_use(parsed.flags, std::move(use));
    }
  }
  if (parsed.command == Command::kPluginsNew) take_new_plugin(parsed);
  if (parsed.command == Command::kCheckConfig && parsed.config_file.empty()) {
    parsed.problems.add("check-config needs a file: smg check-config FILE");
  }
  return parsed;
}

std::string printable_flag(const FlagUse& use) {
  std::string out = "--" + use.name;
  if (is_secret(use.name)) return out;
  for (const auto& word : use.words) out += " " + printable_text(word);
  return out;
}

std::string help_text(std::span<const smg_plugin* const> plugins) {
  std::ostringstream out;
  out << "smg [launch] [OPTIONS]            run the gateway\n"
         "smg check-config FILE [OPTIONS]   say whether it would start, and why not\n"
         "smg plugins list                  the plugins that are there\n"
         "smg plugins describe NAME         what one does, and its options\n"
         "smg plugins new NAME --kind policy|transport|monitor --lang c++|c|rust [--dir DIR]\n"
         "                                  a project for one of your own, ready to build\n"
         "\nOptions override the file. Those that take several values take them behind one "
         "another.\n\n";
  append_flag(out, "config", "FILE", "configuration in TOML", "");
  append_flag(out, "worker-urls", "URL...",
              "engines to route to, besides the [[worker]] tables of the file", "");
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
      const std::string_view value = option.type == SMG_OPTION_BOOL ? "" : "VALUE";
      const auto names = flags_of(option);
      append_flag(out, names.front(), value, {option.help.data, option.help.size},
                  {option.default_value.data, option.default_value.size});
      for (std::size_t n = 1; n < names.size(); ++n) {
        append_flag(out, names[n], value, "the same", "");
      }
    }
  }
  return out.str();
}

}  // namespace smg
