// What the tests of the configuration share: descriptors of made-up plugins, and short ways to
// read.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/views.hpp"
#include "host/config/load.hpp"

namespace smg {

inline ParsedCommand command(std::initializer_list<const char*> arguments) {
  return parse_command_line(std::span(arguments.begin(), arguments.size()));
}

inline smg_option option(std::uint32_t type, std::string_view name, std::string_view standard = {},
                         std::string_view flag = {}) {
  smg_option result{};
  result.struct_size = sizeof(smg_option);
  result.type = type;
  result.name = view(name);
  result.default_value = view(standard);
  result.help = view("what it is for");
  result.minimum = 1;
  result.maximum = 0;
  result.flag = view(flag);
  return result;
}

inline smg_option ranged(smg_option made, double minimum, double maximum) {
  made.minimum = minimum;
  made.maximum = maximum;
  return made;
}

inline smg_plugin plugin(std::uint32_t kind, std::string_view name,
                         std::span<const smg_option> options = {}) {
  smg_plugin result{};
  result.struct_size = sizeof(smg_plugin);
  result.kind = kind;
  result.name = view(name);
  result.version = view("1.2");
  result.vendor = view("the tests");
  result.summary = view("made up");
  result.options = options.data();
  result.option_count = static_cast<std::uint32_t>(options.size());
  return result;
}

// The policies that configurations without a word about policies need.
inline std::vector<const smg_plugin*> standard_plugins() {
  static const smg_plugin kDefault = plugin(SMG_KIND_POLICY, "cache_aware");
  static const smg_plugin kTaking = plugin(SMG_KIND_POLICY, "round_robin");
  static const smg_plugin kRandom = plugin(SMG_KIND_POLICY, "random");
  return {&kDefault, &kTaking, &kRandom};
}

// Both steps, of the file `x.toml`.
inline Result<Config> load(std::string_view toml, std::initializer_list<const char*> arguments = {},
                           const std::vector<const smg_plugin*>& plugins = standard_plugins()) {
  const ParsedCommand parsed = command(arguments);
  if (!parsed.problems.empty()) return {std::nullopt, parsed.problems};
  auto draft = read_text(parsed, toml, "x.toml");
  if (!draft) return {std::nullopt, draft.problems};
  return finish(std::move(*draft.value), plugins);
}

// What is wrong, or `ok`.
inline std::string verdict(std::string_view toml, std::initializer_list<const char*> arguments = {},
                           const std::vector<const smg_plugin*>& plugins = standard_plugins()) {
  const auto result = load(toml, arguments, plugins);
  return result ? "ok" : result.problems.text();
}

}  // namespace smg
