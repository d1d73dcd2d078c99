#include "host/config/load.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "host/config/checks.hpp"
#include "host/config/environment.hpp"
#include "host/config/nearest.hpp"
#include "host/config/plugin_options.hpp"
#include "host/config/priority_tables.hpp"
#include "host/config/settings.hpp"
#include "host/config/worker_table.hpp"

namespace smg {
namespace {

std::string at_line(const std::string& file, const Node& node) {
  return file + ":" + std::to_string(node.key_at.line) + ": ";
}

std::vector<std::string_view> section_names() {
  std::vector<std::string_view> names{"transport", "monitor", "worker"};
  for (const auto& setting : all_settings()) {
    if (names.back() != setting.section) names.push_back(setting.section);
  }
  return names;
}

// The sections that have a setting of this name: `[server]` or `[server], [metrics]`.
std::string sections_with(std::string_view key) {
  std::string sections;
  for (const auto& setting : all_settings()) {
    if (setting.key != key) continue;
    sections += (sections.empty() ? "[" : ", [") + std::string(setting.section) + "]";
  }
  return sections;
}

void read_key(Draft& draft, const Node& section, const Node& node,
              std::span<const std::string_view> keys) {
  const std::string where =
      at_line(draft.file, node) + "[" + section.key + "] " + printable_text(node.key);
  const Setting* setting = find_setting(section.key, node.key);
  if (setting == nullptr) {
    std::string hint = suggestion(node.key, keys);
    const std::string elsewhere = sections_with(node.key);
    if (!elsewhere.empty()) hint = "; it belongs to " + elsewhere;
    if (hint.empty() && !keys.empty()) {
      hint = "; there are";
      for (const auto key : keys) hint += (key == keys.front() ? " " : ", ") + std::string(key);
    }
    draft.problems.add(where + printable_unknown(node) + ": unknown key" + hint);
    return;
  }
  OptionValue value;
  std::string reason;
  if (!read_value(*setting, node, value, reason)) {
    draft.problems.add(where + (setting->secret ? "" : " = " + printable_value(node)) + ": " +
                       reason);
    return;
  }
  setting->set(draft.config, value);
  draft.origins[setting->name()] = where;
}

void read_section(Draft& draft, const Node& section) {
  const std::uint32_t kind = kind_of(section.key);
  std::vector<std::string_view> keys;
  for (const auto& setting : all_settings()) {
    if (setting.section == section.key) keys.push_back(setting.key);
  }
  const std::string name = printable_text(section.key);
  if (keys.empty() && kind == 0) {
    const std::string elsewhere = sections_with(section.key);
    if (section.kind != NodeKind::kTable && !elsewhere.empty()) {
      draft.problems.add(at_line(draft.file, section) + name + printable_unknown(section) +
                         ": stands outside of its section; it belongs to " + elsewhere);
      return;
    }
    const bool tables = section.kind == NodeKind::kTable;
    draft.problems.add(at_line(draft.file, section) + (tables ? "[" + name + "]" : name) +
                       ": unknown section" + suggestion(section.key, section_names()));
    return;
  }
  if (section.kind != NodeKind::kTable) {
    draft.problems.add(at_line(draft.file, section) + name + ": is " +
                       std::string(describe_kind(section.kind)) + ", must be a table: [" + name +
                       "]");
    return;
  }
  for (const auto& node : section.children) {
    const bool own = find_setting(section.key, node.key) != nullptr;
    if (section.key == "priority_scheduler" && read_priority_table(draft, node)) continue;
    if (!own && kind != 0 && node.kind == NodeKind::kTable) {
      draft.plugin_tables.push_back({kind, node});
    } else {
      read_key(draft, section, node, keys);
    }
  }
}

void add_worker(Draft& draft, WorkerSpec spec, const std::string& where) {
  if (!draft.endpoints.insert(endpoint_key(spec.url)).second) {
    draft.problems.add(where + ": this worker is there already");
  } else {
    draft.config.workers.push_back(std::move(spec));
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
      const std::string where = draft.file + ":" + std::to_string(table.at.line) +
                                ": [[worker]] url = \"" + spec.url.text + "\"";
      add_worker(draft, std::move(spec), where);
    }
  }
}

void read_worker_urls(Draft& draft, const FlagUse& use) {
  if (use.words.empty()) draft.problems.add("--worker-urls: needs at least one URL");
  for (const auto& word : use.words) {
    std::string reason;
    auto url = parse_worker_url(word, reason);
    if (!url) {
      draft.problems.add("--worker-urls " + printable_url(word) + ": " + reason);
      continue;
    }
    WorkerSpec spec;
    spec.url = std::move(*url);
    add_worker(draft, std::move(spec), "--worker-urls " + printable_url(word));
  }
}

void read_flags(Draft& draft, const std::vector<FlagUse>& flags) {
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
    if (use.count > 1 && !setting->takes_many()) {
      reason = "is given " + std::to_string(use.count) + " times";
    } else {
      read_value(*setting, use.words, value, reason);
    }
    if (!reason.empty()) {
      draft.problems.add(printable_flag(use) + ": " + reason);
      continue;
    }
    if (setting->shared) draft.plugin_flags.push_back(use);
    if (setting->off_flag == use.name) value = !std::get<bool>(value);
    setting->set(draft.config, value);
    draft.origins[setting->name()] = printable_flag(use);
  }
}

}  // namespace

Result<Draft> read_text(const ParsedCommand& command, std::string_view toml, std::string file) {
  Result<Draft> result;
  Draft draft;
  draft.file = std::move(file);
  ParseFailure failure;
  const Node root = parse_document(toml, failure);
  if (!failure.reason.empty()) {
    result.problems.add(draft.file + ":" + std::to_string(failure.at.line) + ":" +
                        std::to_string(failure.at.column) + ": " + failure.reason);
    return result;
  }
  read_tree(draft, root);
  read_flags(draft, command.flags);
  read_environment(draft);
  result.value = std::move(draft);
  return result;
}

Result<std::string> read_file(const ParsedCommand& command) {
  Result<std::string> result;
  if (command.config_file.empty()) {
    result.value.emplace();
    return result;
  }
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
  // One byte beyond the limit tells that there is more, also of a pipe or a device without end.
  std::string content(kMaxDocument + 1, '\0');
  in.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(in.gcount()));
  if (in.bad()) {
    result.problems.add(command.config_file + ": cannot be read: " + std::strerror(errno));
    return result;
  }
  result.value = std::move(content);
  return result;
}

Result<Config> finish(Draft draft, std::span<const smg_plugin* const> plugins) {
  read_priority_file(draft);
  read_plugin_options(draft, plugins);
  require_plugin(draft, plugins, SMG_KIND_POLICY, draft.config.policy.name,
                 origin(draft, "policy.name"));
  for (const auto& [model, name] : draft.config.policy.models) {
    require_plugin(draft, plugins, SMG_KIND_POLICY, name, origin(draft, "policy.models"));
  }
  require_transports(draft, plugins);
  check_together(draft);
  for (auto& worker : draft.config.workers) {
    if (worker.api_key.empty()) worker.api_key = draft.config.auth.api_key;
  }
  Result<Config> result;
  result.problems = std::move(draft.problems);
  if (result.problems.empty()) result.value = std::move(draft.config);
  return result;
}

}  // namespace smg
