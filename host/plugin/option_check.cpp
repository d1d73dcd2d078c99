#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include "host/base/views.hpp"
#include "host/plugin/descriptor_check.hpp"

namespace smg {
namespace {

constexpr std::uint32_t kMaxChoices = 1024;

bool has_range(const smg_option& option) {
  return option.minimum <= option.maximum;
}

std::string number_text(double value) {
  std::ostringstream stream;
  stream << value;
  return stream.str();
}

std::string range_text(const smg_option& option) {
  return std::string(option.exclusive_minimum != 0 ? "above " : "from ") +
         number_text(option.minimum) + " to " + number_text(option.maximum);
}

std::string number_problem(const smg_option& option, double value) {
  if (!has_range(option)) return {};
  const bool above =
      option.exclusive_minimum != 0 ? value > option.minimum : value >= option.minimum;
  if (above && value <= option.maximum) return {};
  return "is outside its range, " + range_text(option);
}

std::string text_problem(const smg_option& option, std::string_view value) {
  if (option.choice_count == 0) return {};
  std::string choices;
  for (std::uint32_t i = 0; i < option.choice_count; ++i) {
    if (text(option.choices[i]) == value) return {};
    choices += (i > 0 ? ", " : "") + std::string(text(option.choices[i]));
  }
  return "is none of its choices, " + choices;
}

std::string list_problem(const smg_option& option, const toml::array& list) {
  for (const auto& item : list) {
    const auto value = item.value_exact<std::string>();
    if (!value) return "is no list of strings";
    if (auto problem = text_problem(option, *value); !problem.empty()) return problem;
  }
  return {};
}

std::string value_problem(const smg_option& option, const toml::node& value) {
  switch (option.type) {
    case SMG_OPTION_BOOL:
      return value.is_boolean() ? "" : "is neither true nor false";
    case SMG_OPTION_INT:
      if (!value.is_integer()) return "is no integer";
      return number_problem(option, static_cast<double>(value.as_integer()->get()));
    case SMG_OPTION_FLOAT:
      if (!value.is_number()) return "is no number";
      return number_problem(option, *value.value<double>());
    case SMG_OPTION_STRING:
      if (!value.is_string()) return "is no string; strings stand in quotes, as in TOML";
      return text_problem(option, value.as_string()->get());
    default:
      if (!value.is_array()) return "is no list of strings";
      return list_problem(option, *value.as_array());
  }
}

std::string default_problem(const smg_option& option) {
  const std::string given(text(option.default_value));
  if (given.empty()) return {};
  std::string problem;
  try {
    const toml::table table = toml::parse("value = " + given + "\n");
    const toml::node* const value = table.get("value");
    if (value == nullptr || table.size() != 1) {
      problem = "is no single TOML value";
    } else {
      problem = value_problem(option, *value);
    }
  } catch (const toml::parse_error&) {
    problem = "is no TOML value; strings stand in quotes";
  }
  return problem.empty() ? problem : "has the default " + given + ", which " + problem;
}

// One name, or several with commas between.
bool valid_flag(std::string_view flag) {
  if (flag.empty()) return true;
  char last = ',';
  for (const char c : flag) {
    if (c != ',' && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-') return false;
    if (c == ',' && last == ',') return false;
    last = c;
  }
  return last != ',';
}

}  // namespace

std::string option_problem(const smg_option& option) {
  if (option.type < SMG_OPTION_BOOL || option.type > SMG_OPTION_STRING_LIST) {
    return "has the unknown type " + std::to_string(option.type);
  }
  if (std::isnan(option.minimum) || std::isnan(option.maximum)) {
    return "has a range that is no number; write a minimum above the maximum for none";
  }
  if (option.exclusive_minimum != 0 && option.minimum == option.maximum) {
    return "has an empty range, " + range_text(option);
  }
  if (option.choice_count > kMaxChoices || (option.choice_count > 0 && option.choices == nullptr)) {
    return "has " + std::to_string(option.choice_count) + " choices; from 0 to " +
           std::to_string(kMaxChoices) + " are allowed, and the list must not be NULL";
  }
  for (std::uint32_t i = 0; i < option.choice_count; ++i) {
    if (option.choices[i].size > 0 && option.choices[i].data == nullptr) {
      return "has a broken text among its choices";
    }
  }
  if (option.choice_count > 0 && option.type != SMG_OPTION_STRING &&
      option.type != SMG_OPTION_STRING_LIST) {
    return "has choices, which are for strings only";
  }
  if (!valid_flag(text(option.flag))) {
    return "has the flag '" + std::string(text(option.flag)) +
           "'; flags are [a-z0-9-]+ without leading dashes, several with commas between";
  }
  return default_problem(option);
}

}  // namespace smg
