// The defaults that a library's descriptor declares, as options of a fake host. What the test has
// set already stays.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "fake_host.hpp"
#include "smg/plugin.h"

namespace smg::test {

inline void set_defaults(FakeHost& host, const std::string& library) {
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) throw std::runtime_error(dlerror());
  const auto entry = reinterpret_cast<smg_plugin_entry_fn>(dlsym(opened, "smg_plugin_entry"));
  const smg_plugin& plugin = *entry()->plugins;
  for (std::uint32_t i = 0; i < plugin.option_count; ++i) {
    const smg_option& option = plugin.options[i];
    const std::string name(option.name.data, option.name.size);
    const std::string value(option.default_value.data, option.default_value.size);
    if (value.empty()) continue;
    if (option.type == SMG_OPTION_BOOL) host.bools.emplace(name, value == "true");
    if (option.type == SMG_OPTION_INT) host.ints.emplace(name, std::atoll(value.c_str()));
    if (option.type == SMG_OPTION_FLOAT) host.floats.emplace(name, std::atof(value.c_str()));
    if (option.type == SMG_OPTION_STRING) {
      host.strings.emplace(name, value.substr(1, value.size() - 2));  // without the quotes
    }
  }
  dlclose(opened);
}

// The option of that name, or nullptr.
inline const smg_option* find_option(const smg_plugin& plugin, std::string_view name) {
  for (std::uint32_t i = 0; i < plugin.option_count; ++i) {
    const smg_view found = plugin.options[i].name;
    if (std::string_view(found.data, found.size) == name) return &plugin.options[i];
  }
  return nullptr;
}

// Random bits for tests (splitmix64).
inline std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace smg::test
