// Descriptors as constants: options, and the one function that a plugin library exports.
//
//   constexpr smg_option kOptions[] = {
//       smg::int_option("limit", {.initial = "16", .help = "Requests a worker may have", .minimum =
//       1, .maximum = 512})};
//   SMG_EXPORT_PLUGINS(smg::policy<MyPolicy>({.name = "mine", .version = "1.0", .vendor = "me",
//                                             .summary = "What it does", .options = kOptions}))
// A name is [a-z0-9_]+. All of it is constant data: no constructor runs when the library is loaded.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "smg/cpp/view.hpp"
#include "smg/plugin.h"

namespace smg {

// What every plugin says of itself. `flags` is SMG_PLUGIN_*: 0 for a plugin that leaves a thread
// behind after destroy or has a thread_local with a destructor.
struct About {
  std::string_view name;
  std::string_view version;
  std::string_view vendor = {};
  std::string_view summary;
  std::span<const smg_option> options = {};
  uint32_t flags = SMG_PLUGIN_UNLOADABLE;
};

// `initial` is the default as one would write it in TOML, so text is in quotes: "\"fast\"". Empty:
// none.
struct OptionAbout {
  std::string_view initial = {};
  std::string_view help;
  double minimum = 1;  // minimum > maximum: no range
  double maximum = 0;
  std::span<const smg_view> choices = {};
  bool exclusive_minimum = false;
  std::string_view flag = {};
  std::string_view label_default = {};
};

constexpr smg_option option(uint32_t type, std::string_view name, const OptionAbout& about) {
  return {.struct_size = sizeof(smg_option),
          .type = type,
          .name = view(name),
          .default_value = view(about.initial),
          .help = view(about.help),
          .minimum = about.minimum,
          .maximum = about.maximum,
          .choices = about.choices.data(),
          .choice_count = static_cast<uint32_t>(about.choices.size()),
          .exclusive_minimum = about.exclusive_minimum ? 1u : 0u,
          .flag = view(about.flag),
          .label_default = view(about.label_default)};
}

constexpr smg_option bool_option(std::string_view name, const OptionAbout& about) {
  return option(SMG_OPTION_BOOL, name, about);
}
constexpr smg_option int_option(std::string_view name, const OptionAbout& about) {
  return option(SMG_OPTION_INT, name, about);
}
constexpr smg_option float_option(std::string_view name, const OptionAbout& about) {
  return option(SMG_OPTION_FLOAT, name, about);
}
constexpr smg_option string_option(std::string_view name, const OptionAbout& about) {
  return option(SMG_OPTION_STRING, name, about);
}
constexpr smg_option list_option(std::string_view name, const OptionAbout& about) {
  return option(SMG_OPTION_STRING_LIST, name, about);
}

// A plugin of `kind` with its table of functions. The helpers policy(), transport() and monitor()
// call it.
constexpr smg_plugin describe(uint32_t kind, const About& about, const void* api) {
  return {.struct_size = sizeof(smg_plugin),
          .kind = kind,
          .name = view(about.name),
          .version = view(about.version),
          .vendor = view(about.vendor),
          .summary = view(about.summary),
          .options = about.options.data(),
          .option_count = static_cast<uint32_t>(about.options.size()),
          .flags = about.flags,
          .api = api,
          .extension = nullptr};
}

template <std::size_t Count>
constexpr smg_library library(const smg_plugin (&plugins)[Count]) {
  return {.magic = SMG_PLUGIN_MAGIC,
          .abi_major = SMG_ABI_MAJOR,
          .abi_minor = SMG_ABI_MINOR,
          .struct_size = sizeof(smg_library),
          .plugin_count = Count,
          .build = view("C++ " __VERSION__),
          .plugins = plugins,
          .plugin_stride = sizeof(smg_plugin)};
}

}  // namespace smg

// Once per library, outside of any namespace, with the descriptors of its plugins.
#define SMG_EXPORT_PLUGINS(...)                                     \
  extern "C" const smg_library* smg_plugin_entry(void) {            \
    static constexpr smg_plugin kPlugins[] = {__VA_ARGS__};         \
    static constexpr smg_library kLibrary = smg::library(kPlugins); \
    return &kLibrary;                                               \
  }                                                                 \
  static_assert(true)
