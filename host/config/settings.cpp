#include "host/config/settings.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace smg {
namespace {

// Beyond these a limit is only the end of the type, of which nobody needs to be told.
constexpr double kIntegersEnd = 9e18;
constexpr double kNumbersEnd = 1e300;

bool check_number(const Setting& setting, double number, std::string& reason) {
  const bool low =
      setting.above_minimum ? !(number > setting.minimum) : !(number >= setting.minimum);
  if (std::isfinite(number) && !low && number <= setting.maximum) return true;
  if (!setting.reason.empty() && (low || setting.kind == SettingKind::kNumber)) {
    reason = setting.reason;
  } else if (const auto range = range_text(setting); !range.empty()) {
    reason = "must be " + range;
  } else {
    reason = "must be a finite number";
  }
  return false;
}

bool check_text(const Setting& setting, const std::string& text, std::string& reason) {
  if (setting.choices.empty() ||
      std::find(setting.choices.begin(), setting.choices.end(), text) != setting.choices.end()) {
    return true;
  }
  reason = "must be one of ";
  for (const auto choice : setting.choices) {
    if (choice != setting.choices.front()) reason += ", ";
    reason += choice;
  }
  return false;
}

bool check_texts(const Setting& setting, const std::vector<std::string>& texts,
                 std::string& reason) {
  return std::all_of(texts.begin(), texts.end(), [&](const std::string& text) {
    if (check_text(setting, text, reason)) return true;
    reason = "'" + printable_text(text) + "' " + reason;
    return false;
  });
}

// Ranges and choices, then the row's own check.
bool accept(const Setting& setting, OptionValue read, OptionValue& value, std::string& reason) {
  bool fine = true;
  if (const auto* integer = std::get_if<std::int64_t>(&read)) {
    fine = check_number(setting, static_cast<double>(*integer), reason);
  } else if (const auto* number = std::get_if<double>(&read)) {
    fine = check_number(setting, *number, reason);
  } else if (const auto* text = std::get_if<std::string>(&read)) {
    fine = check_text(setting, *text, reason);
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&read)) {
    fine = check_texts(setting, *texts, reason);
  }
  if (!fine) return false;
  if (setting.check != nullptr) reason = setting.check(read);
  if (setting.check != nullptr && !reason.empty()) return false;
  value = std::move(read);
  return true;
}

template <class T>
bool parse(std::string_view text, T& number) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && end == text.data() + text.size();
}

std::string_view wanted(SettingKind kind) {
  switch (kind) {
    case SettingKind::kBool:
      return "true or false";
    case SettingKind::kInteger:
      return "an integer";
    case SettingKind::kNumber:
      return "a number";
    case SettingKind::kText:
      return "a string";
    case SettingKind::kTexts:
      return "a list of strings";
    case SettingKind::kNumbers:
      return "a list of numbers";
    case SettingKind::kMap:
      return "a table of strings";
  }
  return "a value";
}

// The node as the alternative that the kind says; false: it is something else.
bool from_node(SettingKind kind, const Node& node, OptionValue& value) {
  const auto all = [&](auto fits) {
    return std::all_of(node.children.begin(), node.children.end(), fits);
  };
  const auto is_number = [](const Node& n) {
    return n.kind == NodeKind::kInteger || n.kind == NodeKind::kFloat;
  };
  const auto is_text = [](const Node& n) { return n.kind == NodeKind::kString; };
  switch (kind) {
    case SettingKind::kBool:
      value = node.flag;
      return node.kind == NodeKind::kBool;
    case SettingKind::kInteger:
      value = node.integer;
      return node.kind == NodeKind::kInteger;
    case SettingKind::kNumber:
      value = node.number;
      return is_number(node);
    case SettingKind::kText:
      value = node.text;
      return is_text(node);
    case SettingKind::kTexts: {
      std::vector<std::string> texts;
      for (const auto& child : node.children) texts.push_back(child.text);
      value = std::move(texts);
      return node.kind == NodeKind::kArray && all(is_text);
    }
    case SettingKind::kNumbers: {
      std::vector<double> numbers;
      for (const auto& child : node.children) numbers.push_back(child.number);
      value = std::move(numbers);
      return node.kind == NodeKind::kArray && all(is_number);
    }
    case SettingKind::kMap: {
      StringMap map;
      for (const auto& child : node.children) map[child.key] = child.text;
      value = std::move(map);
      return node.kind == NodeKind::kTable && all(is_text);
    }
  }
  return false;
}

bool map_from_words(std::span<const std::string> words, StringMap& map, std::string& reason) {
  for (const auto& word : words) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, equals);
    const std::string target = word.substr(std::min(equals + 1, word.size()));
    if (name.empty() || target.empty()) {
      reason = "must be written as alias=canonical";
      return false;
    }
    const auto [place, fresh] = map.emplace(name, target);
    if (!fresh && place->second != target) {
      reason = "names '" + printable_text(name) + "' twice with different targets";
      return false;
    }
  }
  return true;
}

bool numbers_from_words(std::span<const std::string> words, std::vector<double>& numbers) {
  for (const auto& word : words) {
    if (!parse(word, numbers.emplace_back())) return false;
  }
  return true;
}

std::string number_text(double number) {
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), number);
  // 67108864 rather than 6.7108864e+07.
  if (std::fabs(number) < 1e15 && number == std::floor(number)) {
    return std::to_string(static_cast<std::int64_t>(number));
  }
  return {text, end.ptr};
}

}  // namespace

std::string range_text(const Setting& setting) {
  const double end = setting.kind == SettingKind::kInteger ? kIntegersEnd : kNumbersEnd;
  const std::string low = number_text(setting.minimum);
  const std::string high = number_text(setting.maximum);
  const bool has_low = setting.minimum > -end;
  const bool has_high = setting.maximum < end;
  if (has_low && has_high) {
    return setting.above_minimum ? "above " + low + " and at most " + high
                                 : "from " + low + " to " + high;
  }
  if (has_low) return (setting.above_minimum ? "above " : "at least ") + low;
  return has_high ? "at most " + high : "";
}

bool is_ip_address(const std::string& text) {
  in6_addr ignored{};
  return inet_pton(AF_INET, text.c_str(), &ignored) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &ignored) == 1;
}

const Setting* find_setting(std::string_view section, std::string_view key) {
  for (const auto& setting : all_settings()) {
    if (setting.section == section && setting.key == key) return &setting;
  }
  return nullptr;
}

const Setting* find_flag(std::string_view flag) {
  if (flag.empty()) return nullptr;
  for (const auto& setting : all_settings()) {
    if (setting.flag == flag || setting.alias == flag || setting.off_flag == flag) return &setting;
  }
  return nullptr;
}

bool read_value(const Setting& setting, const Node& node, OptionValue& value, std::string& reason) {
  OptionValue read;
  if (from_node(setting.kind, node, read)) {
    return accept(setting, std::move(read), value, reason);
  }
  reason = "is " + std::string(describe_kind(node.kind)) + ", must be " +
           std::string(wanted(setting.kind));
  const bool right_outside = (node.kind == NodeKind::kArray && setting.kind != SettingKind::kMap) ||
                             node.kind == NodeKind::kTable;
  if (setting.takes_many() && right_outside) {
    reason = "must be " + std::string(wanted(setting.kind)) + " and nothing else";
  }
  return false;
}

bool read_value(const Setting& setting, std::span<const std::string> words, OptionValue& value,
                std::string& reason) {
  const auto fail = [&](std::string why) {
    reason = std::move(why);
    return false;
  };
  const bool is_bool = setting.kind == SettingKind::kBool;
  if (words.empty() && !is_bool) return fail("needs a value: " + std::string(wanted(setting.kind)));
  if (words.size() > 1 && !setting.takes_many()) {
    return fail(is_bool ? "takes no value, or true or false" : "takes one value");
  }
  OptionValue read;
  switch (setting.kind) {
    case SettingKind::kBool:
      if (!words.empty() && words[0] != "true" && words[0] != "false") {
        return fail("takes no value, or true or false");
      }
      read = words.empty() || words[0] == "true";
      break;
    case SettingKind::kInteger: {
      std::int64_t integer = 0;
      if (!parse(words[0], integer)) return fail("must be an integer");
      read = integer;
      break;
    }
    case SettingKind::kNumber: {
      double number = 0;
      if (!parse(words[0], number)) return fail("must be a number");
      read = number;
      break;
    }
    case SettingKind::kText:
      read = words[0];
      break;
    case SettingKind::kTexts:
      read = std::vector<std::string>(words.begin(), words.end());
      break;
    case SettingKind::kNumbers: {
      std::vector<double> numbers;
      if (!numbers_from_words(words, numbers)) return fail("must be numbers");
      read = std::move(numbers);
      break;
    }
    case SettingKind::kMap: {
      StringMap map;
      if (!map_from_words(words, map, reason)) return false;
      read = std::move(map);
      break;
    }
  }
  return accept(setting, std::move(read), value, reason);
}

}  // namespace smg
