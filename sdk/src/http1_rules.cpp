#include "http1_rules.hpp"

#include <algorithm>
#include <cstring>

namespace smg::http1 {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_visible(char c) {
  return c > ' ' && c < 0x7f;
}

}  // namespace

Scan scan_head(const char* data, std::size_t size, std::size_t max, std::size_t& scanned) {
  // Bytes beyond the limit are not looked at, so that they cannot turn "too long" into another
  // verdict.
  const std::size_t end = std::min(size, max);
  if (scanned == 0 && end > 0 && !is_visible(data[0])) return Scan::malformed;
  while (scanned < end) {
    if (scanned > 0 && data[scanned - 1] == '\n' && is_blank(data[scanned])) return Scan::malformed;
    if (scanned > 0 && data[scanned - 1] == '\r' && data[scanned] != '\n') return Scan::malformed;
    const void* newline = std::memchr(data + scanned, '\n', end - scanned);
    if (newline == nullptr) {
      const void* stray = std::memchr(data + scanned, '\r', end - scanned);
      if (stray != nullptr && stray != data + end - 1) return Scan::malformed;
      scanned = end;
      break;
    }
    const auto at = static_cast<std::size_t>(static_cast<const char*>(newline) - data);
    if (data[at - 1] != '\r') return Scan::malformed;
    // Now, not when the head is complete: the verdict must not depend on how the bytes arrive.
    if (at > scanned + 1 && std::memchr(data + scanned, '\r', at - scanned - 1) != nullptr) {
      return Scan::malformed;
    }
    scanned = at + 1;
    if (data[at - 2] == '\n') return Scan::complete;
  }
  return size > max ? Scan::too_long : Scan::incomplete;
}

bool has_bare_line_end(std::string_view lines) {
  for (std::size_t at = lines.find_first_of("\r\n"); at != std::string_view::npos;
       at = lines.find_first_of("\r\n", at + 2)) {
    if (lines[at] == '\n') return true;
    if (at + 1 < lines.size() && lines[at + 1] != '\n') return true;
  }
  return false;
}

bool has_folding(std::string_view lines) {
  for (std::size_t at = 0; at < lines.size();) {
    if (is_blank(lines[at])) return true;
    const std::size_t newline = lines.find('\n', at);
    if (newline == std::string_view::npos) break;
    at = newline + 1;
  }
  return false;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a | 0x20) : a) == b;
  });
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

bool has_control_byte(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f;
  });
}

bool normalise_target(std::string_view& target, bool is_options) {
  for (const char c : target) {
    if (c == '#' || static_cast<unsigned char>(c) >= 0x80) return false;
  }
  if (target.front() == '/') return true;
  if (target == "*") {
    target = "/";
    return is_options;
  }
  const std::size_t authority = equals_ignoring_case(target.substr(0, 7), "http://")    ? 7
                                : equals_ignoring_case(target.substr(0, 8), "https://") ? 8
                                                                                        : 0;
  if (authority == 0) return false;
  const std::size_t path = std::min(target.find_first_of("/?", authority), target.size());
  if (path == authority) return false;
  if (path == target.size()) {
    target = "/";
    return true;
  }
  target.remove_prefix(path);
  return target.front() == '/';
}

bool names_later_version(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\r'));
  if (line.size() < 9) return false;
  const std::string_view version = line.substr(line.size() - 9);
  if (!version.starts_with(" HTTP/") || version[7] != '.') return false;
  if (!is_digit(version[6]) || !is_digit(version[8])) return false;
  return version[6] > '1' || (version[6] == '1' && version[8] > '1');
}

}  // namespace smg::http1
