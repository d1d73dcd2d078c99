// The table of settings: one row for each, from which TOML keys, flags, help and range errors all
// come. Plugins' options and the keys of [[worker]] are read through rows of the same type.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/config.hpp"
#include "host/config/document.hpp"
#include "host/config/option_value.hpp"

namespace smg {

enum class SettingKind { kBool, kInteger, kNumber, kText, kTexts, kNumbers, kMap };

struct Setting {
  std::string_view section;
  std::string_view key;
  std::string_view flag;      // without dashes; empty: none
  std::string_view alias;     // a second name of the flag
  std::string_view off_flag;  // a flag that sets a boolean to false
  std::string_view env;       // a variable that is read where neither file nor flag sets it
  SettingKind kind = SettingKind::kBool;
  double minimum = 0;
  double maximum = 0;
  bool above_minimum = false;  // the minimum itself is not allowed
  bool shared = false;         // the flag also goes to the plugins that declare it
  bool secret = false;         // no message and no listing shows a value of it
  std::string_view reason;     // what a value out of range is told, in place of the range
  std::vector<std::string_view> choices;  // of a text or of each text; empty: any
  // One check more, of a value that has passed the others: empty, or what is wrong.
  std::string (*check)(const OptionValue& value) = nullptr;
  std::string_view help;
  // `value` holds the alternative that `kind` says, within the range.
  std::function<void(Config&, const OptionValue& value)> set;
  std::function<std::string(const Config&)> shown;  // as TOML; empty: unset
  std::function<bool(const Config&, const Config&)> same;
  std::function<void(Config& to, const Config& from)> copy;

  // "section.key"
  std::string name() const { return std::string(section) + "." + std::string(key); }
  // Takes several values, and may be repeated on the command line.
  bool takes_many() const {
    return kind == SettingKind::kTexts || kind == SettingKind::kNumbers ||
           kind == SettingKind::kMap;
  }
};

std::span<const Setting> all_settings();
// nullptr: none.
const Setting* find_setting(std::string_view section, std::string_view key);
const Setting* find_flag(std::string_view flag);

// The value of a TOML node, or of the words behind a flag. False, and why, if it does not fit the
// setting.
bool read_value(const Setting& setting, const Node& node, OptionValue& value, std::string& reason);
bool read_value(const Setting& setting, std::span<const std::string> words, OptionValue& value,
                std::string& reason);

// `from 1 to 65535`, `at least 1`, `above 0 and at most 1`; empty: any.
std::string range_text(const Setting& setting);

bool is_ip_address(const std::string& text);

// Flags of the reference gateway that this version does not have.
bool is_flag_of_reference(std::string_view flag);

}  // namespace smg
