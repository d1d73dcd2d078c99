// Checks of single values that several rows share.
#include <algorithm>
#include <cmath>

#include "host/config/settings_rows.hpp"

namespace smg::rows {

std::string check_address(const OptionValue& value) {
  return is_ip_address(std::get<std::string>(value))
             ? ""
             : "must be an IPv4 or IPv6 address, for example 0.0.0.0 or ::1";
}

std::string check_path(const OptionValue& value) {
  const auto& text = std::get<std::string>(value);
  const bool fine = text.starts_with('/') && std::all_of(text.begin(), text.end(), [](char c) {
                      return c > ' ' && c < 0x7f;
                    });
  return fine ? "" : "must be a path that begins with /";
}

std::string check_not_empty(const OptionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return text->empty() ? "must not be empty" : "";
  }
  if (const auto* map = std::get_if<StringMap>(&value)) {
    for (const auto& [key, item] : *map) {
      if (key.empty() || item.empty()) return "must not have an empty name or an empty value";
    }
  }
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    for (const auto& text : *texts) {
      if (text.empty()) return "must not have an empty string in it";
    }
  }
  return {};
}

namespace {

bool is_header_name(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != 0 && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
  });
}

}  // namespace

std::string check_header_name(const OptionValue& value) {
  return is_header_name(std::get<std::string>(value)) ? "" : "must be the name of a header";
}

std::string check_header_names(const OptionValue& value) {
  const auto& names = std::get<std::vector<std::string>>(value);
  if (names.empty()) return "must name at least one header";
  for (const auto& name : names) {
    if (!is_header_name(name)) return "'" + printable_text(name) + "' is no name of a header";
  }
  return {};
}

std::string check_roles(const OptionValue& value) {
  for (const auto& [theirs, role] : std::get<StringMap>(value)) {
    if (role == "admin" || role == "user") continue;
    return "maps '" + printable_text(theirs) + "' to '" + printable_text(role) +
           "', must map each role to admin or user";
  }
  return {};
}

std::string check_ascending(const OptionValue& value) {
  const auto& numbers = std::get<std::vector<double>>(value);
  double last = 0;
  for (const double number : numbers) {
    if (!(number > last) || !std::isfinite(number)) {
      return "must be finite numbers above 0, strictly ascending";
    }
    last = number;
  }
  if (numbers.size() > 100) return "must not have more than 100 numbers";
  return numbers.empty() ? "must have at least one number" : "";
}

}  // namespace smg::rows
