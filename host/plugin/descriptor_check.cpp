#include "host/plugin/descriptor_check.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <set>
#include <utility>

namespace smg {
namespace {

constexpr std::uint32_t kMaxPlugins = 64;
constexpr std::uint32_t kMaxOptions = 256;
constexpr std::uint32_t kMaxSchemes = 32;
constexpr std::uint64_t kMaxText = 4096;

// What ABI 0.1 had of each struct: the least that a library may bring.
constexpr std::size_t kLibrarySize = sizeof(smg_library);
constexpr std::size_t kPluginSize = sizeof(smg_plugin);
constexpr std::size_t kOptionSize = offsetof(smg_option, label_default);

std::string version_text(unsigned major, unsigned minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string too_short(std::string_view what, std::uint64_t size, std::size_t least) {
  return std::string(what) + " has struct_size " + std::to_string(size) + ", at least " +
         std::to_string(least) + " is needed: build it with this version's SDK";
}

bool valid_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool valid_view(smg_view view) {
  return view.size == 0 || (view.data != nullptr && view.size <= kMaxText);
}

template <typename T>
T known_part(const void* source, std::uint64_t size) {
  T result{};
  std::memcpy(static_cast<void*>(&result), source,
              std::min(sizeof(T), static_cast<std::size_t>(size)));
  result.struct_size = sizeof(T);
  return result;
}

std::string table_problem(const smg_library* table) {
  if (table == nullptr) return "smg_plugin_entry returned NULL";
  if (table->magic != SMG_PLUGIN_MAGIC) {
    std::array<char, 80> line{};
    std::snprintf(line.data(), line.size(),
                  "is no smg plugin: its magic number is 0x%08x, not 0x%08x", table->magic,
                  SMG_PLUGIN_MAGIC);
    return line.data();
  }
  if (table->abi_major != SMG_ABI_MAJOR || table->abi_minor > SMG_ABI_MINOR) {
    return "was built for ABI " + version_text(table->abi_major, table->abi_minor) +
           ", this gateway speaks " + version_text(SMG_ABI_MAJOR, SMG_ABI_MINOR) +
           ": rebuild it against this version's SDK";
  }
  if (table->struct_size < kLibrarySize) {
    return too_short("its smg_library", table->struct_size, kLibrarySize);
  }
  if (table->plugin_count == 0 || table->plugin_count > kMaxPlugins || table->plugins == nullptr) {
    return "its smg_library names " + std::to_string(table->plugin_count) + " plugins; from 1 to " +
           std::to_string(kMaxPlugins) + " are allowed, and the list must not be NULL";
  }
  if (table->plugin_stride < kPluginSize || table->plugin_stride % alignof(smg_plugin) != 0) {
    return "its smg_library has plugin_stride " + std::to_string(table->plugin_stride) +
           ", which is not the sizeof(smg_plugin) of any SDK";
  }
  if (!valid_view(table->build)) return "its smg_library has a broken build text";
  return {};
}

// The options are an array of the struct as the library was compiled: struct_size is the stride.
std::string take_options(const smg_plugin& source, Plugin& plugin) {
  if (source.option_count == 0) return {};
  if (source.option_count > kMaxOptions || source.options == nullptr) {
    return "names " + std::to_string(source.option_count) + " options; from 0 to " +
           std::to_string(kMaxOptions) + " are allowed, and the list must not be NULL";
  }
  const std::uint32_t stride = source.options->struct_size;
  std::set<std::string_view> names;
  const auto* at = reinterpret_cast<const char*>(source.options);
  for (std::uint32_t i = 0; i < source.option_count; ++i, at += stride) {
    std::uint32_t size = 0;
    std::memcpy(&size, at, sizeof(size));
    if (size < kOptionSize || size != stride || size % alignof(smg_option) != 0) {
      return too_short("option number " + std::to_string(i + 1), size, kOptionSize);
    }
    const auto option = known_part<smg_option>(at, size);
    if (!valid_view(option.name) || !valid_name(text(option.name))) {
      return "has an option whose name is not [a-z0-9_]+ (number " + std::to_string(i + 1) + ")";
    }
    const std::string label = "option '" + std::string(text(option.name)) + "' ";
    if (!names.insert(text(option.name)).second) return label + "is declared twice";
    if (!valid_view(option.default_value) || !valid_view(option.help) || !valid_view(option.flag) ||
        !valid_view(option.label_default)) {
      return label + "has a broken text";
    }
    if (auto problem = option_problem(option); !problem.empty()) return label + problem;
    plugin.options.push_back(option);
  }
  return {};
}

struct Function {
  const char* name;
  bool present;
};

std::string missing(const char* table, std::initializer_list<Function> functions) {
  for (const auto& function : functions) {
    if (!function.present) {
      return std::string("its ") + table + " lacks the function " + function.name;
    }
  }
  return {};
}

std::string policy_problem(const smg_policy_api& api) {
  constexpr std::uint32_t kKnown = SMG_NEEDS_TEXT | SMG_NEEDS_TOKENS | SMG_NEEDS_HEADERS |
                                   SMG_NEEDS_LOADS | SMG_KEEPS_ROUTING_KEYS;
  if ((api.needs & ~kKnown) != 0) {
    return "its smg_policy_api has unknown bits in needs: " + std::to_string(api.needs);
  }
  return missing("smg_policy_api", {{"create", api.create != nullptr},
                                    {"destroy", api.destroy != nullptr},
                                    {"select", api.select != nullptr}});
}

std::string names_problem(const char* what, const smg_view* names, std::uint32_t count,
                          std::uint32_t least) {
  if (count < least || count > kMaxSchemes || (count > 0 && names == nullptr)) {
    return "names " + std::to_string(count) + " " + what + "; from " + std::to_string(least) +
           " to " + std::to_string(kMaxSchemes) + " are allowed, and the list must not be NULL";
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (names[i].size == 0 || !valid_view(names[i]))
      return std::string("has an empty name in its ") + what;
    const auto name = text(names[i]);
    if (std::any_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
      return "has '" + std::string(name) + "' among its " + what + "; they are lower case";
    }
  }
  return {};
}

std::string transport_problem(const smg_transport_api& api) {
  auto problem = names_problem("schemes", api.schemes, api.scheme_count, 1);
  if (problem.empty()) problem = names_problem("runtimes", api.runtimes, api.runtime_count, 0);
  if (!problem.empty()) return problem;
  return missing("smg_transport_api", {{"create", api.create != nullptr},
                                       {"destroy", api.destroy != nullptr},
                                       {"open", api.open != nullptr},
                                       {"quiesce", api.quiesce != nullptr},
                                       {"close", api.close != nullptr},
                                       {"probe", api.probe != nullptr},
                                       {"start", api.start != nullptr},
                                       {"pause", api.pause != nullptr},
                                       {"resume", api.resume != nullptr},
                                       {"cancel", api.cancel != nullptr}});
}

std::string monitor_problem(const smg_monitor_api& api) {
  return missing("smg_monitor_api", {{"create", api.create != nullptr},
                                     {"destroy", api.destroy != nullptr},
                                     {"match", api.match != nullptr},
                                     {"attach", api.attach != nullptr},
                                     {"detach", api.detach != nullptr}});
}

template <typename Api>
std::string take_api(const smg_plugin& source, const char* name, std::string (*problem)(const Api&),
                     Plugin& plugin) {
  std::uint32_t size = 0;
  std::memcpy(&size, source.api, sizeof(size));
  if (size < sizeof(Api)) return too_short(std::string("its ") + name, size, sizeof(Api));
  plugin.api = known_part<Api>(source.api, size);
  plugin.descriptor.api = &std::get<Api>(plugin.api);
  return problem(std::get<Api>(plugin.api));
}

std::string take_api(const smg_plugin& source, Plugin& plugin) {
  if (source.api == nullptr) return "has no table of functions (api is NULL)";
  switch (source.kind) {
    case SMG_KIND_POLICY:
      return take_api<smg_policy_api>(source, "smg_policy_api", policy_problem, plugin);
    case SMG_KIND_TRANSPORT:
      return take_api<smg_transport_api>(source, "smg_transport_api", transport_problem, plugin);
    default:
      return take_api<smg_monitor_api>(source, "smg_monitor_api", monitor_problem, plugin);
  }
}

std::string take_plugin(const smg_plugin& source, Plugin& plugin) {
  plugin.descriptor = known_part<smg_plugin>(&source, source.struct_size);
  for (const smg_view view : {source.version, source.vendor, source.summary}) {
    if (!valid_view(view)) return "has a broken text in its descriptor";
  }
  if (auto problem = take_options(source, plugin); !problem.empty()) return problem;
  plugin.descriptor.options = plugin.options.data();
  return take_api(source, plugin);
}

}  // namespace

std::string_view kind_name(std::uint32_t kind) {
  switch (kind) {
    case SMG_KIND_POLICY:
      return "policy";
    case SMG_KIND_TRANSPORT:
      return "transport";
    case SMG_KIND_MONITOR:
      return "monitor";
    default:
      return "plugin";
  }
}

std::vector<std::shared_ptr<Plugin>> check_library(const smg_library* table, std::string& error) {
  error = table_problem(table);
  if (!error.empty()) return {};
  std::vector<std::shared_ptr<Plugin>> plugins;
  std::set<std::pair<std::uint32_t, std::string_view>> seen;
  const auto* at = reinterpret_cast<const char*>(table->plugins);
  for (std::uint32_t i = 0; i < table->plugin_count; ++i, at += table->plugin_stride) {
    const auto& source = *reinterpret_cast<const smg_plugin*>(at);
    const std::string number = "plugin number " + std::to_string(i + 1);
    if (source.struct_size < kPluginSize || source.struct_size > table->plugin_stride) {
      error = too_short(number, source.struct_size, kPluginSize);
      return {};
    }
    if (source.kind < SMG_KIND_POLICY || source.kind > SMG_KIND_MONITOR) {
      error = number + " has the unknown kind " + std::to_string(source.kind);
      return {};
    }
    if (!valid_view(source.name) || !valid_name(text(source.name))) {
      error = number + " has a name that is not [a-z0-9_]+";
      return {};
    }
    const std::string label =
        std::string(kind_name(source.kind)) + " '" + std::string(text(source.name)) + "': ";
    if (!seen.emplace(source.kind, text(source.name)).second) {
      error = label + "is in the library twice";
      return {};
    }
    auto plugin = std::make_shared<Plugin>();
    if (auto problem = take_plugin(source, *plugin); !problem.empty()) {
      error = label + problem;
      return {};
    }
    plugins.push_back(std::move(plugin));
  }
  return plugins;
}

}  // namespace smg
