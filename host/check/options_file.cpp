#include "host/check/options_file.hpp"

#include <algorithm>
#include <span>

#include "host/base/views.hpp"
#include "host/check/library_file.hpp"
#include "host/config/plugin_options.hpp"

namespace smg::check {
namespace {

const Node* child(const Node& table, std::string_view key) {
  const auto found = std::find_if(table.children.begin(), table.children.end(),
                                  [&](const Node& node) { return node.key == key; });
  return found == table.children.end() ? nullptr : &*found;
}

}  // namespace

Node read_options_file(const std::filesystem::path& file, std::string& problem) {
  const std::string text = read_file(file, problem);
  if (!problem.empty()) return {};
  ParseFailure failure;
  Node document = parse_document(text, failure);
  if (!failure.reason.empty()) {
    problem = "line " + std::to_string(failure.at.line) + ": " + failure.reason;
  }
  return document;
}

PluginOptions options_for(const smg_plugin& plugin, const Node& document, std::string& problem,
                          std::vector<std::string>& unknown) {
  PluginOptions options;
  const std::string table_name =
      std::string(plugin_kind_name(plugin.kind)) + "." + std::string(text(plugin.name));
  const Node* table = child(document, plugin_kind_name(plugin.kind));
  if (table != nullptr) table = child(*table, text(plugin.name));
  if (table != nullptr && table->kind != NodeKind::kTable) {
    problem = table_name + " is no table";
    return options;
  }
  const std::span<const smg_option> declared(plugin.options, plugin.option_count);
  for (const auto& option : declared) {
    const std::string name(text(option.name));
    OptionValue value;
    ParseFailure failure;
    std::string reason;
    const Setting setting = option_setting(option);
    if (option.default_value.size > 0 &&
        read_value(setting, parse_value(text(option.default_value), failure), value, reason)) {
      options[name] = value;
    }
    const Node* const given = table == nullptr ? nullptr : child(*table, name);
    if (given == nullptr) continue;
    if (read_value(setting, *given, value, reason)) {
      options[name] = value;
    } else if (problem.empty()) {
      problem = "[" + table_name + "] " + name + " = " + printable_value(*given) + ": " + reason;
    }
  }
  if (table == nullptr) return options;
  for (const auto& key : table->children) {
    const bool known = std::any_of(declared.begin(), declared.end(), [&](const smg_option& option) {
      return text(option.name) == key.key;
    });
    if (!known) unknown.push_back("[" + table_name + "] " + printable_text(key.key));
  }
  return options;
}

}  // namespace smg::check
