// Undoes the escapes of query strings: `%41` is A, `+` a space.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

namespace smg {

// Appends to `to`. False at a broken escape.
inline bool percent_decode(std::string_view from, std::string& to) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != '%') {
      to += from[i] == '+' ? ' ' : from[i];
      continue;
    }
    unsigned code = 0;
    const char* const first = from.data() + i + 1;
    if (from.size() - i < 3 || std::from_chars(first, first + 2, code, 16).ptr != first + 2) {
      return false;
    }
    to += static_cast<char>(code);
    i += 2;
  }
  return true;
}

}  // namespace smg
