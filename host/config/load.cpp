#include "host/config/load.hpp"

#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "host/config/nearest.hpp"
#include "host/config/plugin_options.hpp"
#include "host/config/settings.hpp"
#include "host/config/worker_table.hpp"

namespace smg {
namespace {

std::string_view text(smg_view view) {
  return {view.data, view.size};
}

std::string at_line(const std::string& file, const Node& node) {
  return file + ":" + std::to_string(node.key_at.line) + ": ";
}

std::uint32_t plugin_kind(std::string_view section) {
  if (section == "policy") return SMG_KIND_POLICY;
  if (section == "transport") return SMG_KIND_TRANSPORT;
  if (section == "monitor") return SMG_KIND_MONITOR;
  return 0;
}

std::string_view section_of(std::uint32_t kind) {
  return kind == SMG_KIND_POLICY ? "policy" : kind == SMG_KIND_TRANSPORT ? "transport" : "monitor";
}

std::vector<std::string_view> section_names() {
  std::vector<std::string_view> names{"transport", "monitor", "worker"};
  for (const auto& setting : all_settings()) {
    if (names.back() != setting.section) names.push_back(setting.section);
  }
  return names;
}

void read_section(Draft& draft, const Node& section) {
  const std::uint32_t kind = plugin_kind(section.key);
  if (section.kind != NodeKind::kTable) {
    draft.problems.add(at_line(draft.file, section) + section.key + ": is " +
                       std::string(describe_kind(section.kind)) + ", must be a table: [" +
                       section.key + "]");
    return;
  }
  std::vector<std::string_view> keys;
  for (const auto& setting : all_settings()) {
    if (setting.section == section.key) keys.push_back(setting.key);
  }
  if (keys.empty() && kind == 0) {
    draft.problems.add(at_line(draft.file, section) + "[" + section.key + "]: unknown section" +
                       suggestion(section.key, section_names()));
    return;
  }
  for (const auto& node : section.children) {
    const Setting* setting = find_setting(section.key, node.key);
    if (setting == nullptr && kind != 0 && node.kind == NodeKind::kTable) {
      draft.plugin_tables.push_back({kind, node});
      continue;
    }
    const std::string where = at_line(draft.file, node) + "[" + section.key + "] " + node.key;
    const std::string what = where + " = " + printable_value(node) + ": ";
    if (setting == nullptr) {
      draft.problems.add(what + "unknown key" + suggestion(node.key, keys));
      continue;
    }
    OptionValue value;
    std::string reason;
    if (!read_value(*setting, node, value, reason)) {
      draft.problems.add(what + reason);
      continue;
    }
    setting->set(draft.config, value);
    draft.origins[std::string(setting->section) + "." + std::string(setting->key)] = where;
  }
}

void read_tree(Draft& draft, const Node& root) {
  for (const auto& node : root.children) {
    if (node.key != "worker") {
      read_section(draft, node);
      continue;
    }
    if (node.kind != NodeKind::kArray) {
      draft.problems.add(at_line(draft.file, node) +
                         "worker: must be written as [[worker]], one for each");
      continue;
    }
    for (const auto& table : node.children) {
      if (table.kind != NodeKind::kTable) {
        draft.problems.add(at_line(draft.file, node) +
                           "worker: must be written as [[worker]], one for each");
        continue;
      }
      const std::size_t before = draft.problems.lines.size() + draft.problems.dropped;
      WorkerSpec spec = read_worker(table, draft.file, draft.problems);
      if (draft.problems.lines.size() + draft.problems.dropped != before) continue;
      const auto same = [&](const WorkerSpec& other) { return same_endpoint(other.url, spec.url); };
      if (std::any_of(draft.config.workers.begin(), draft.config.workers.end(), same)) {
        draft.problems.add(draft.file + ":" + std::to_string(table.at.line) +
                           ": [[worker]] url = \"" + spec.url.text +
                           "\": this worker is there already");
        continue;
      }
      draft.config.workers.push_back(std::move(spec));
    }
  }
}

std::vector<std::string> words_of(const FlagUse& use) {
  return use.inline_value ? std::vector<std::string>{*use.inline_value} : use.words;
}

std::string shown(const FlagUse& use) {
  std::string out = "--" + use.name;
  for (const auto& word : words_of(use)) out += " " + word;
  return out;
}

void read_worker_urls(Draft& draft, const FlagUse& use) {
  if (words_of(use).empty()) draft.problems.add("--worker-urls: needs at least one URL");
  for (const auto& word : words_of(use)) {
    std::string reason;
    auto url = parse_worker_url(word, reason);
    if (!url) {
      draft.problems.add("--worker-urls " + printable_url(word) + ": " + reason);
      continue;
    }
    const auto same = [&](const WorkerSpec& other) { return same_endpoint(other.url, *url); };
    if (std::any_of(draft.config.workers.begin(), draft.config.workers.end(), same)) {
      draft.problems.add("--worker-urls " + url->text + ": this worker is there already");
      continue;
    }
    WorkerSpec spec;
    spec.url = std::move(*url);
    draft.config.workers.push_back(std::move(spec));
  }
}

void read_flags(Draft& draft, const std::vector<FlagUse>& flags) {
  StringMap aliases;
  for (const auto& use : flags) {
    if (use.name == "worker-urls") {
      read_worker_urls(draft, use);
      continue;
    }
    const Setting* setting = find_flag(use.name);
    if (setting == nullptr) {
      draft.plugin_flags.push_back(use);
      continue;
    }
    OptionValue value;
    std::string reason;
    const auto words = words_of(use);
    if (!read_value(*setting, words, value, reason)) {
      draft.problems.add(shown(use) + ": " + reason);
      continue;
    }
    if (setting->off_flag == use.name) value = !std::get<bool>(value);
    if (auto* map = std::get_if<StringMap>(&value)) {
      // Repeatable: what earlier uses and the file said stays.
      for (const auto& [alias, target] : *map) {
        const auto [place, fresh] = aliases.emplace(alias, target);
        if (!fresh && place->second != target) {
          draft.problems.add(shown(use) + ": names '" + alias + "' twice with different targets");
        }
      }
      StringMap all = draft.config.models.aliases;
      for (const auto& [alias, target] : aliases) all[alias] = target;
      value = std::move(all);
    }
    setting->set(draft.config, value);
    draft.origins[std::string(setting->section) + "." + std::string(setting->key)] = shown(use);
  }
}

std::string begin(const Draft& draft, std::string_view setting, std::string_view fallback) {
  const auto found = draft.origins.find(setting);
  return found == draft.origins.end() ? std::string(fallback) : found->second;
}

void check_together(Draft& draft) {
  Config& config = draft.config;
  if (config.retry.max_backoff_ms < config.retry.initial_backoff_ms) {
    draft.problems.add(begin(draft, "retry.max_backoff_ms", "[retry] max_backoff_ms") + ": is " +
                       std::to_string(config.retry.max_backoff_ms) +
                       ", must be at least initial_backoff_ms (" +
                       std::to_string(config.retry.initial_backoff_ms) + ")");
  }
  if (config.server.stream_request_bodies_over >= config.server.max_payload_size &&
      config.server.stream_request_bodies_over != 0) {
    draft.problems.add(
        begin(draft, "server.stream_request_bodies_over", "[server] stream_request_bodies_over") +
        ": must be below max_payload_size (" + std::to_string(config.server.max_payload_size) +
        ")");
  }
  if (config.server.port == config.metrics.port) {
    draft.problems.add(begin(draft, "metrics.port", "[metrics] port") + ": is " +
                       std::to_string(config.metrics.port) +
                       ", the port of the listener itself; choose another");
  }
  if (config.liveness.stale_secs != 0 &&
      config.liveness.stale_secs <= config.load_monitor.interval_secs) {
    config.warnings.push_back(
        "liveness.stale_secs (" + std::to_string(config.liveness.stale_secs) +
        ") is not above load_monitor.interval_secs (" +
        std::to_string(config.load_monitor.interval_secs) +
        "): a worker whose event stream stops is excluded before its next poll");
  }
  for (const auto& worker : config.workers) {
    if (worker.worker_type != "regular") {
      draft.problems.add("worker " + worker.url.text + ": worker_type = \"" + worker.worker_type +
                         "\" is not served by this version; only regular is");
    }
  }
}

std::string plugin_names(std::span<const smg_plugin* const> plugins, std::uint32_t kind) {
  std::string names;
  for (const auto* plugin : plugins) {
    if (plugin->kind == kind)
      names += (names.empty() ? "" : ", ") + std::string(text(plugin->name));
  }
  return names.empty() ? "none" : names;
}

std::string searched(const Config& config) {
  std::string paths;
  for (const auto& path : config.plugins.paths) paths += (paths.empty() ? "" : ", ") + path;
  return paths.empty() ? "nowhere: [plugins] paths is empty" : paths;
}

void check_policy(Draft& draft, std::span<const smg_plugin* const> plugins, const std::string& name,
                  const std::string& where) {
  std::vector<std::string_view> names;
  for (const auto* plugin : plugins) {
    if (plugin->kind != SMG_KIND_POLICY) continue;
    if (text(plugin->name) == name) return;
    names.push_back(text(plugin->name));
  }
  draft.problems.add(where + ": no plugin offers the policy '" + name + "'" +
                     suggestion(name, names) +
                     " (there are: " + plugin_names(plugins, SMG_KIND_POLICY) +
                     "; searched: " + searched(draft.config) + ")");
}

void read_plugin_table(Draft& draft, std::span<const smg_plugin* const> plugins,
                       const PluginTable& table) {
  const Node& node = table.table;
  const std::string section = std::string(section_of(table.kind)) + "." + node.key;
  const auto found = std::find_if(plugins.begin(), plugins.end(), [&](const smg_plugin* plugin) {
    return plugin->kind == table.kind && text(plugin->name) == node.key;
  });
  if (found == plugins.end()) {
    std::vector<std::string_view> names;
    for (const auto* plugin : plugins) {
      if (plugin->kind == table.kind) names.push_back(text(plugin->name));
    }
    draft.problems.add(at_line(draft.file, node) + "[" + section + "]: no plugin has this name" +
                       suggestion(node.key, names) +
                       " (there are: " + plugin_names(plugins, table.kind) +
                       "; searched: " + searched(draft.config) + ")");
    return;
  }
  const smg_plugin& plugin = **found;
  auto& options = draft.config.plugin_options[{table.kind, node.key}];
  for (const auto& child : node.children) {
    const std::string what = at_line(draft.file, child) + "[" + section + "] " + child.key + " = " +
                             printable_value(child) + ": ";
    std::vector<std::string_view> keys;
    const smg_option* option = nullptr;
    for (std::uint32_t i = 0; i < plugin.option_count; ++i) {
      keys.push_back(text(plugin.options[i].name));
      if (keys.back() == child.key) option = &plugin.options[i];
    }
    if (option == nullptr) {
      draft.problems.add(what + "unknown key" + suggestion(child.key, keys));
      continue;
    }
    OptionValue value;
    std::string reason;
    if (!read_value(option_setting(plugin, *option), child, value, reason)) {
      draft.problems.add(what + reason);
      continue;
    }
    options[child.key] = std::move(value);
  }
}

void read_plugin_flag(Draft& draft, std::span<const smg_plugin* const> plugins,
                      const FlagUse& use) {
  std::vector<std::string_view> known;
  for (const auto& setting : all_settings()) {
    if (!setting.flag.empty()) known.push_back(setting.flag);
  }
  for (const auto* plugin : plugins) {
    for (std::uint32_t i = 0; i < plugin->option_count; ++i) {
      const smg_option& option = plugin->options[i];
      if (option.flag.size == 0) continue;
      known.push_back(text(option.flag));
      if (known.back() != use.name) continue;
      OptionValue value;
      std::string reason;
      const auto words = words_of(use);
      if (read_value(option_setting(*plugin, option), words, value, reason)) {
        draft.config.plugin_options[{plugin->kind, std::string(text(plugin->name))}]
                                   [std::string(text(option.name))] = std::move(value);
      } else {
        draft.problems.add(shown(use) + ": " + reason);
      }
      return;
    }
  }
  if (is_flag_of_reference(use.name)) {
    draft.problems.add("--" + use.name +
                       " is a flag of the reference gateway that this version does not have");
  } else {
    draft.problems.add("--" + use.name + ": unknown flag" + suggestion(use.name, known) +
                       " (smg --help lists all)");
  }
}

// Choices of a text option are checked here: they are the plugin's own views, not one text.
void check_choices(Draft& draft, const smg_plugin& plugin, const PluginOptions& options) {
  for (std::uint32_t i = 0; i < plugin.option_count; ++i) {
    const smg_option& option = plugin.options[i];
    const auto found = options.find(text(option.name));
    if (option.choice_count == 0 || found == options.end()) continue;
    std::vector<std::string> given;
    if (const auto* one = std::get_if<std::string>(&found->second)) given = {*one};
    if (const auto* many = std::get_if<std::vector<std::string>>(&found->second)) given = *many;
    std::string choices;
    for (std::uint32_t c = 0; c < option.choice_count; ++c) {
      choices += (choices.empty() ? "" : ", ") + std::string(text(option.choices[c]));
    }
    for (const auto& value : given) {
      const bool fine = std::any_of(option.choices, option.choices + option.choice_count,
                                    [&](smg_view choice) { return text(choice) == value; });
      if (fine) continue;
      draft.problems.add("[" + std::string(section_of(plugin.kind)) + "." +
                         std::string(text(plugin.name)) + "] " + std::string(text(option.name)) +
                         " = \"" + value + "\": must be one of: " + choices);
    }
  }
}

}  // namespace

Result<Draft> read_text(const ParsedCommand& command, std::string_view toml, std::string file) {
  Result<Draft> result;
  Draft draft;
  draft.file = std::move(file);
  if (toml.find('\0') != std::string_view::npos && !toml.starts_with("\xff\xfe") &&
      !toml.starts_with("\xfe\xff")) {
    const auto line =
        1 +
        std::count(toml.begin(), toml.begin() + static_cast<std::ptrdiff_t>(toml.find('\0')), '\n');
    result.problems.add(draft.file + ":" + std::to_string(line) +
                        ": contains a zero byte; this is not a text file");
    return result;
  }
  ParseFailure failure;
  const Node root = parse_document(toml, failure);
  if (!failure.reason.empty()) {
    result.problems.add(draft.file + ":" + std::to_string(failure.at.line) + ":" +
                        std::to_string(failure.at.column) + ": " + failure.reason);
    return result;
  }
  read_tree(draft, root);
  read_flags(draft, command.flags);
  result.value = std::move(draft);
  return result;
}

Result<Draft> read(const ParsedCommand& command) {
  if (command.config_file.empty()) return read_text(command, "", "");
  Result<Draft> result;
  struct stat info {};
  if (stat(command.config_file.c_str(), &info) != 0) {
    result.problems.add(command.config_file + ": " + std::strerror(errno));
    return result;
  }
  if (S_ISDIR(info.st_mode)) {
    result.problems.add(command.config_file + ": is a directory, must be a TOML file");
    return result;
  }
  std::ifstream in(command.config_file, std::ios::binary);
  if (!in) {
    result.problems.add(command.config_file + ": " + std::strerror(errno));
    return result;
  }
  const std::string content{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return read_text(command, content, command.config_file);
}

Result<Config> finish(Draft draft, std::span<const smg_plugin* const> plugins) {
  for (const auto* plugin : plugins) {
    std::string reason;
    auto& options = draft.config.plugin_options[{plugin->kind, std::string(text(plugin->name))}];
    if (!default_options(*plugin, options, reason)) draft.problems.add(reason);
  }
  for (const auto& table : draft.plugin_tables) read_plugin_table(draft, plugins, table);
  for (const auto& use : draft.plugin_flags) read_plugin_flag(draft, plugins, use);
  for (const auto* plugin : plugins) {
    check_choices(draft, *plugin,
                  draft.config.plugin_options[{plugin->kind, std::string(text(plugin->name))}]);
  }
  check_policy(draft, plugins, draft.config.policy.name,
               begin(draft, "policy.name", "[policy] name"));
  for (const auto& [model, name] : draft.config.policy.models) {
    check_policy(draft, plugins, name, begin(draft, "policy.models", "[policy] models"));
  }
  check_together(draft);
  Result<Config> result;
  result.problems = std::move(draft.problems);
  if (result.problems.empty()) result.value = std::move(draft.config);
  return result;
}

}  // namespace smg
