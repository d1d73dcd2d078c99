#include "host/routing/request/json_string.hpp"

#include <cstdint>

namespace smg {
namespace {

// The four hexadecimal digits at the front of `text`, or more than 0xffff.
std::uint32_t hex4(std::string_view text) {
  if (text.size() < 4) return 0x10000;
  std::uint32_t value = 0;
  for (const char c : text.substr(0, 4)) {
    unsigned digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<unsigned>(c - '0');
    } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
      digit = static_cast<unsigned>((c | 0x20) - 'a') + 10;
    } else {
      return 0x10000;
    }
    value = value << 4 | digit;
  }
  return value;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

// `raw` begins behind "\u"; returns how much of it was used, 0 on failure.
std::size_t append_code_unit(std::string& out, std::string_view raw) {
  const std::uint32_t unit = hex4(raw);
  if (unit > 0xffff || (unit >= 0xdc00 && unit <= 0xdfff)) return 0;
  if (unit < 0xd800 || unit > 0xdbff) {
    append_utf8(out, unit);
    return 4;
  }
  if (raw.substr(4, 2) != "\\u") return 0;
  const std::uint32_t low = hex4(raw.substr(6));
  if (low < 0xdc00 || low > 0xdfff) return 0;
  append_utf8(out, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
  return 10;
}

}  // namespace

bool append_unescaped(std::string& out, std::string_view raw) {
  for (;;) {
    // Most text has few escapes: whole runs are searched and copied.
    const std::size_t escape = raw.find('\\');
    if (escape == std::string_view::npos) {
      out.append(raw);
      return true;
    }
    out.append(raw.data(), escape);
    if (escape + 1 == raw.size()) return false;
    const char kind = raw[escape + 1];
    raw.remove_prefix(escape + 2);
    switch (kind) {
      case '"':
      case '\\':
      case '/':
        out += kind;
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'u': {
        const std::size_t used = append_code_unit(out, raw);
        if (used == 0) return false;
        raw.remove_prefix(used);
        break;
      }
      default:
        return false;
    }
  }
}

void append_quoted(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace smg
