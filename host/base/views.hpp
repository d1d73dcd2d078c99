// Conversions between the ABI's views and the standard library's, and comparing names.
#pragma once

#include <string_view>

#include "smg/cpp/view.hpp"

namespace smg {

// ASCII only, as protocol names are.
inline bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto lower = [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    };
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

}  // namespace smg
