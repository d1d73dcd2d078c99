// How the rows of the settings' tables are made. What a member's type already says (kind, widest
// range) is not repeated in the row.
#pragma once

#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "host/config/settings.hpp"

namespace smg::rows {

template <class T>
struct Unwrap {
  using type = T;
};
template <class T>
struct Unwrap<std::optional<T>> {
  using type = T;
};

inline std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

template <class T>
std::string show(const T& value) {
  std::ostringstream out;
  if constexpr (std::is_same_v<T, bool>) {
    out << (value ? "true" : "false");
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!value.empty()) out << quoted(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    out << +value;
  } else if constexpr (std::is_same_v<T, StringMap>) {
    for (const auto& [key, item] : value)
      out << (out.tellp() > 0 ? ", " : "") << key << " = " << quoted(item);
  } else {
    for (const auto& item : value) {
      if (out.tellp() > 0) out << ", ";
      if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        out << quoted(item);
      } else {
        out << item;
      }
    }
  }
  return out.str();
}

// A row; its kind and widest range follow from the member that `at` gives.
template <class At>
Setting row(std::string_view section, std::string_view key, std::string_view flag, At at,
            std::string_view help) {
  using Member = std::remove_reference_t<decltype(at(std::declval<Config&>()))>;
  using T = typename Unwrap<Member>::type;
  Setting setting;
  setting.section = section;
  setting.key = key;
  setting.flag = flag;
  setting.help = help;
  setting.shown = [at](const Config& config) {
    const Member& member = at(const_cast<Config&>(config));
    if constexpr (std::is_same_v<Member, T>) {
      return show(member);
    } else {
      return member ? show(*member) : std::string();
    }
  };
  setting.same = [at](const Config& a, const Config& b) {
    return at(const_cast<Config&>(a)) == at(const_cast<Config&>(b));
  };
  setting.copy = [at](Config& to, const Config& from) { at(to) = at(const_cast<Config&>(from)); };
  if constexpr (std::is_same_v<T, bool>) {
    setting.kind = SettingKind::kBool;
    setting.set = [at](Config& config, const OptionValue& value) {
      at(config) = std::get<bool>(value);
    };
  } else if constexpr (std::is_integral_v<T>) {
    setting.kind = SettingKind::kInteger;
    setting.maximum = static_cast<double>(std::numeric_limits<T>::max());
    setting.set = [at](Config& config, const OptionValue& value) {
      at(config) = static_cast<T>(std::get<std::int64_t>(value));
    };
  } else if constexpr (std::is_same_v<T, double>) {
    setting.kind = SettingKind::kNumber;
    setting.maximum = std::numeric_limits<double>::max();
    setting.set = [at](Config& config, const OptionValue& value) {
      at(config) = std::get<double>(value);
    };
  } else {
    setting.kind = std::is_same_v<T, std::string>                ? SettingKind::kText
                   : std::is_same_v<T, std::vector<std::string>> ? SettingKind::kTexts
                   : std::is_same_v<T, std::vector<double>>      ? SettingKind::kNumbers
                                                                 : SettingKind::kMap;
    setting.set = [at](Config& config, const OptionValue& value) {
      at(config) = std::get<T>(value);
    };
  }
  return setting;
}

inline Setting ranged(Setting setting, double minimum, double maximum, std::string_view reason) {
  setting.minimum = minimum;
  if (maximum > minimum) setting.maximum = maximum;
  setting.reason = reason;
  return setting;
}
inline Setting positive(Setting setting) {
  return ranged(std::move(setting), 1, 0, "Must be > 0");
}
inline Setting alias(Setting setting, std::string_view name) {
  setting.alias = name;
  return setting;
}
inline Setting shared(Setting setting) {
  setting.shared = true;
  return setting;
}
inline Setting off(Setting setting, std::string_view flag) {
  setting.off_flag = flag;
  return setting;
}
inline Setting one_of(Setting setting, std::vector<std::string_view> choices) {
  setting.choices = std::move(choices);
  return setting;
}
inline Setting checked(Setting setting, std::string (*check)(const OptionValue&)) {
  setting.check = check;
  return setting;
}

inline Setting secret(Setting setting) {
  setting.secret = true;
  return setting;
}
inline Setting env(Setting setting, std::string_view variable) {
  setting.env = variable;
  return setting;
}

// Checks of single values, for checked().
std::string check_address(const OptionValue& value);
std::string check_path(const OptionValue& value);
std::string check_not_empty(const OptionValue& value);
std::string check_header_name(const OptionValue& value);
std::string check_header_names(const OptionValue& value);
std::string check_ascending(const OptionValue& value);
std::string check_roles(const OptionValue& value);

using Table = std::vector<Setting>;

// The parts of the table that have a file of their own.
void add_admission_rows(Table& table);
void add_security_rows(Table& table);
void add_limit_rows(Table& table);

}  // namespace smg::rows

// The member of the configuration that a row is about.
#define SMG_AT(path)        \
  [](Config & c) -> auto& { \
    return c.path;          \
  }
