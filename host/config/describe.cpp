// Texts about plugins and configurations for people: plugins list, plugins describe, check-config.
#include <algorithm>
#include <sstream>

#include "host/base/views.hpp"
#include "host/config/load.hpp"
#include "host/config/plugin_options.hpp"

namespace smg {
namespace {

std::string_view type_text(std::uint32_t type) {
  switch (type) {
    case SMG_OPTION_BOOL:
      return "true or false";
    case SMG_OPTION_INT:
      return "integer";
    case SMG_OPTION_FLOAT:
      return "number";
    case SMG_OPTION_STRING:
      return "text";
    default:
      return "list of texts";
  }
}

}  // namespace

std::string list_plugins(std::span<const smg_plugin* const> plugins) {
  std::ostringstream out;
  for (const auto* plugin : plugins) {
    std::string left(plugin_kind_name(plugin->kind));
    left.resize(11, ' ');
    left += text(plugin->name);
    left.resize(std::max<std::size_t>(left.size() + 1, 32), ' ');
    out << left << text(plugin->version) << "  " << text(plugin->summary) << "\n";
  }
  if (plugins.empty()) out << "no plugins found; [plugins] paths names the directories to search\n";
  return out.str();
}

std::string describe_plugin(const smg_plugin& plugin) {
  std::ostringstream out;
  out << text(plugin.name) << " " << text(plugin.version) << " - " << plugin_kind_name(plugin.kind)
      << " by " << text(plugin.vendor) << "\n"
      << text(plugin.summary) << "\n";
  if (plugin.option_count == 0) {
    out << "\nIt has no options.\n";
    return out.str();
  }
  out << "\n[" << plugin_kind_name(plugin.kind) << "." << text(plugin.name) << "]\n";
  for (std::uint32_t i = 0; i < plugin.option_count; ++i) {
    const smg_option& option = plugin.options[i];
    out << "  " << text(option.name);
    if (option.default_value.size > 0) out << " = " << text(option.default_value);
    out << "\n      " << text(option.help) << " (" << type_text(option.type);
    const Setting setting = option_setting(option);
    if (option.type == SMG_OPTION_INT || option.type == SMG_OPTION_FLOAT) {
      if (const auto range = range_text(setting); !range.empty()) out << ", " << range;
    }
    for (std::uint32_t c = 0; c < option.choice_count; ++c)
      out << (c == 0 ? ": " : ", ") << text(option.choices[c]);
    out << ")\n";
    if (option.label_default.size > 0) {
      out << "      default where a worker's label asks for the policy: "
          << text(option.label_default) << "\n";
    }
    const auto flags = flags_of(option);
    for (std::size_t n = 0; n < flags.size(); ++n) {
      out << (n == 0 ? "      flag: --" : ", --") << flags[n];
    }
    if (!flags.empty()) out << "\n";
  }
  return out.str();
}

std::string summary(const Config& config) {
  std::ostringstream out;
  out << "listens on " << config.server.host << ":" << config.server.port << ", metrics on "
      << config.metrics.host << ":" << config.metrics.port << "\npolicy " << config.policy.name
      << "\n";
  if (config.workers.empty()) out << "no workers\n";
  for (const auto& worker : config.workers) {
    out << "worker " << worker.url.text;
    for (const auto& model : worker.models) out << " " << model.id;
    out << "\n";
  }
  return out.str();
}

}  // namespace smg
