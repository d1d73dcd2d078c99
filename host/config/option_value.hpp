// A typed value of a setting or of a plugin's option.
//
// Plugins have only the first five kinds: bool, integer, number, text, list of texts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace smg {

using StringMap = std::map<std::string, std::string, std::less<>>;
using OptionValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>,
                                 std::vector<double>, StringMap>;

// The checked options of one plugin, defaults included. An option without default that nobody set
// is not in it.
using PluginOptions = std::map<std::string, OptionValue, std::less<>>;

}  // namespace smg
