#include "host/config/plugin_options.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "host/base/views.hpp"
#include "host/config/nearest.hpp"
#include "smg/transport.h"

namespace smg {
namespace {

using PluginSpan = std::span<const smg_plugin* const>;

std::span<const smg_option> options_of(const smg_plugin& plugin) {
  return {plugin.options, plugin.option_count};
}

// `transport http`
std::string title(const smg_plugin& plugin) {
  return std::string(plugin_kind_name(plugin.kind)) + " " + std::string(text(plugin.name));
}

// What the operator sets holds for every instance, whoever asked for it.
void set_option(Draft& draft, const smg_plugin& plugin, std::string_view option,
                const OptionValue& value) {
  const std::pair key{plugin.kind, std::string(text(plugin.name))};
  draft.config.plugin_options[key][std::string(option)] = value;
  draft.config.label_options[key][std::string(option)] = value;
}

// One default of an option, into `options`.
void read_default(Draft& draft, const smg_plugin& plugin, const smg_option& option, smg_view value,
                  PluginOptions& options) {
  if (value.size == 0) return;
  ParseFailure failure;
  const Node node = parse_value(text(value), failure);
  std::string reason = failure.reason;
  OptionValue read;
  if (reason.empty() && read_value(option_setting(option), node, read, reason)) {
    options[std::string(text(option.name))] = std::move(read);
  } else {
    draft.problems.add("plugin " + title(plugin) + ": its option " +
                       std::string(text(option.name)) + " declares the default " +
                       std::string(text(value)) + ": " + reason);
  }
}

void read_defaults(Draft& draft, const smg_plugin& plugin) {
  const std::pair key{plugin.kind, std::string(text(plugin.name))};
  auto& options = draft.config.plugin_options[key];
  auto& by_label = draft.config.label_options[key];
  for (const auto& option : options_of(plugin)) {
    for (const auto flag : flags_of(option)) {
      const Setting* own = find_flag(flag);
      if (own == nullptr || own->shared) continue;
      draft.problems.add("plugin " + title(plugin) + ": its option " +
                         std::string(text(option.name)) + " declares --" + std::string(flag) +
                         ", which is a flag of the gateway itself");
    }
    read_default(draft, plugin, option, option.default_value, options);
  }
  by_label = options;
  for (const auto& option : options_of(plugin)) {
    read_default(draft, plugin, option, option.label_default, by_label);
  }
}

void read_table(Draft& draft, PluginSpan plugins, const PluginTable& table) {
  const Node& node = table.table;
  const auto at = [&](const Node& where) {
    return draft.file + ":" + std::to_string(where.key_at.line) + ": [" +
           std::string(plugin_kind_name(table.kind)) + "." + printable_text(node.key) + "]";
  };
  const auto found = std::find_if(plugins.begin(), plugins.end(), [&](const smg_plugin* plugin) {
    return plugin->kind == table.kind && text(plugin->name) == node.key;
  });
  if (found == plugins.end()) {
    require_plugin(draft, plugins, table.kind, node.key, at(node));
    return;
  }
  std::vector<std::string_view> keys;
  for (const auto& option : options_of(**found)) keys.push_back(text(option.name));
  for (const auto& child : node.children) {
    const std::string key = at(child) + " " + printable_text(child.key);
    const auto place = std::find(keys.begin(), keys.end(), child.key);
    if (place == keys.end()) {
      draft.problems.add(key + printable_unknown(child) + ": unknown key" +
                         suggestion(child.key, keys));
      continue;
    }
    OptionValue value;
    std::string reason;
    const auto& option = options_of(**found)[static_cast<std::size_t>(place - keys.begin())];
    if (read_value(option_setting(option), child, value, reason)) {
      set_option(draft, **found, child.key, value);
    } else {
      draft.problems.add(key + " = " + printable_value(child) + ": " + reason);
    }
  }
}

void report_unknown(Draft& draft, PluginSpan plugins, const std::string& flag) {
  if (is_flag_of_reference(flag)) {
    draft.problems.add("--" + flag +
                       " is a flag of the reference gateway that this version does not have");
    return;
  }
  std::vector<std::string_view> known{"config", "worker-urls", "help", "version"};
  for (const auto& setting : all_settings()) {
    for (const auto name : {setting.flag, setting.alias, setting.off_flag}) {
      if (!name.empty()) known.push_back(name);
    }
  }
  for (const auto* plugin : plugins) {
    for (const auto& option : options_of(*plugin)) {
      for (const auto name : flags_of(option)) known.push_back(name);
    }
  }
  draft.problems.add("--" + printable_text(flag) + ": unknown flag" + suggestion(flag, known) +
                     " (smg --help lists all)");
}

// A flag goes to every plugin that declares it.
void read_flag(Draft& draft, PluginSpan plugins, const FlagUse& use) {
  bool found = false;
  for (const auto* plugin : plugins) {
    for (const auto& option : options_of(*plugin)) {
      const auto names = flags_of(option);
      if (std::find(names.begin(), names.end(), use.name) == names.end()) continue;
      found = true;
      OptionValue value;
      std::string reason;
      const Setting setting = option_setting(option);
      if (use.count > 1 && !setting.takes_many()) {
        reason = "is given " + std::to_string(use.count) + " times";
      } else if (read_value(setting, use.words, value, reason)) {
        set_option(draft, *plugin, text(option.name), value);
        continue;
      }
      draft.problems.add(printable_flag(use) + ": " + reason);
      return;
    }
  }
  if (!found && find_flag(use.name) == nullptr) report_unknown(draft, plugins, use.name);
}

}  // namespace

std::string_view plugin_kind_name(std::uint32_t kind) {
  return kind == SMG_KIND_POLICY ? "policy" : kind == SMG_KIND_TRANSPORT ? "transport" : "monitor";
}

std::vector<std::string_view> flags_of(const smg_option& option) {
  std::vector<std::string_view> names;
  std::string_view rest = text(option.flag);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    names.push_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return names;
}

std::uint32_t kind_of(std::string_view name) {
  for (const auto kind : {SMG_KIND_POLICY, SMG_KIND_TRANSPORT, SMG_KIND_MONITOR}) {
    if (plugin_kind_name(kind) == name) return kind;
  }
  return 0;
}

Setting option_setting(const smg_option& option) {
  static constexpr SettingKind kKinds[] = {SettingKind::kBool, SettingKind::kInteger,
                                           SettingKind::kNumber, SettingKind::kText,
                                           SettingKind::kTexts};
  Setting setting;
  setting.key = text(option.name);
  setting.help = text(option.help);
  setting.kind = kKinds[std::clamp(option.type, SMG_OPTION_BOOL, SMG_OPTION_STRING_LIST) - 1];
  setting.minimum = -std::numeric_limits<double>::max();
  setting.maximum = std::numeric_limits<double>::max();
  if (option.minimum <= option.maximum) {
    setting.minimum = option.minimum;
    setting.maximum = option.maximum;
    setting.above_minimum = option.exclusive_minimum != 0;
  }
  for (std::uint32_t i = 0; i < option.choice_count; ++i) {
    setting.choices.push_back(text(option.choices[i]));
  }
  return setting;
}

void require_plugin(Draft& draft, PluginSpan plugins, std::uint32_t kind, std::string_view name,
                    const std::string& where) {
  std::vector<std::string_view> names;
  std::string list;
  for (const auto* plugin : plugins) {
    if (plugin->kind != kind) continue;
    if (text(plugin->name) == name) return;
    names.push_back(text(plugin->name));
    list += (list.empty() ? "" : ", ") + std::string(names.back());
  }
  std::string paths;
  for (const auto& path : draft.config.plugins.paths) paths += (paths.empty() ? "" : ", ") + path;
  draft.problems.add(
      where + ": no " + std::string(plugin_kind_name(kind)) + " is named '" + printable_text(name) +
      "'" + suggestion(name, names) + " (there are: " + (list.empty() ? "none" : list) +
      "; searched: " + (paths.empty() ? "nothing, [plugins] paths is empty" : paths) + ")");
}

void require_transports(Draft& draft, PluginSpan plugins) {
  std::string schemes;
  const auto offered = [&](std::string_view scheme) {
    schemes.clear();
    for (const auto* plugin : plugins) {
      if (plugin->kind != SMG_KIND_TRANSPORT || plugin->api == nullptr) continue;
      const auto& api = *static_cast<const smg_transport_api*>(plugin->api);
      for (std::uint32_t i = 0; i < api.scheme_count; ++i) {
        if (text(api.schemes[i]) == scheme) return true;
        schemes += (schemes.empty() ? "" : ", ") + std::string(text(api.schemes[i]));
      }
    }
    return schemes.empty();  // without any transport, that is said once, at the start
  };
  for (const auto& worker : draft.config.workers) {
    if (offered(worker.url.scheme)) continue;
    draft.problems.add("worker " + worker.url.text +
                       ": no plugin offers a transport for the scheme '" + worker.url.scheme +
                       "' (there are: " + schemes + ")");
  }
}

void read_plugin_options(Draft& draft, PluginSpan plugins) {
  for (const auto* plugin : plugins) read_defaults(draft, *plugin);
  for (const auto& table : draft.plugin_tables) read_table(draft, plugins, table);
  for (const auto& use : draft.plugin_flags) read_flag(draft, plugins, use);
}

}  // namespace smg
