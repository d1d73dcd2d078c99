// The canary: a staged library is opened and exercised by smg-plugin-check in a process of its own
// before the gateway opens it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "host/config/option_value.hpp"
#include "host/plugin/library.hpp"

namespace smg {

// By kind and name, as Config has them.
using OptionTables = std::map<std::pair<std::uint32_t, std::string>, PluginOptions>;

inline constexpr std::uint64_t kSmokeTestSeconds = 4;

// Empty if the library passed, with these options, else a sentence that begins with its file.
// `checker` is the program. Waits for it, kSmokeTestSeconds at most: not on a loop.
std::string smoke_test(const StagedLibrary& staged, const std::filesystem::path& checker,
                       const OptionTables& options);

// A TOML document with a table [kind.name] for each. For tests.
std::string toml_of(const OptionTables& options);

}  // namespace smg
