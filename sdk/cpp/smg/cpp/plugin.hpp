// What a library exports: constant descriptors and the one symbol. Use it in one source file of the
// library.
//
//   SMG_EXPORT_PLUGINS(smg::policy<Nearest>("nearest", "1.0", "Example Ltd", "the nearest worker"))
//
// Everything is a constant: no code runs when the library is opened.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "smg/cpp/view.hpp"
#include "smg/plugin.h"

namespace smg {

constexpr smg_view constant(std::string_view text) {
  return {text.data(), text.size()};
}

namespace detail {

constexpr smg_plugin describe(std::uint32_t kind, std::string_view name, std::string_view version,
                              std::string_view vendor, std::string_view summary,
                              std::span<const smg_option> options, const void* api) {
  return {sizeof(smg_plugin),
          kind,
          constant(name),
          constant(version),
          constant(vendor),
          constant(summary),
          options.data(),
          static_cast<std::uint32_t>(options.size()),
          0,
          api,
          nullptr};
}

}  // namespace detail

// An option; chain what it needs: option("size", SMG_OPTION_INT, "64", "how many").
constexpr smg_option option(std::string_view name, std::uint32_t type,
                            std::string_view default_value, std::string_view help,
                            double minimum = 1, double maximum = 0, std::string_view flag = {}) {
  return {sizeof(smg_option),
          type,
          constant(name),
          constant(default_value),
          constant(help),
          minimum,
          maximum,
          nullptr,
          0,
          0,
          constant(flag)};
}

}  // namespace smg

#define SMG_EXPORT_PLUGINS(...)                                                        \
  extern "C" SMG_EXPORT const smg_library* smg_plugin_entry(void) {                    \
    static constexpr std::array kPlugins{__VA_ARGS__};                                 \
    static constexpr smg_library kLibrary{SMG_PLUGIN_MAGIC,                            \
                                          SMG_ABI_MAJOR,                               \
                                          SMG_ABI_MINOR,                               \
                                          sizeof(smg_library),                         \
                                          static_cast<std::uint32_t>(kPlugins.size()), \
                                          smg::constant(__VERSION__),                  \
                                          kPlugins.data(),                             \
                                          sizeof(smg_plugin)};                         \
    return &kLibrary;                                                                  \
  }
