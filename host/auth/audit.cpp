#include "host/auth/audit.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <iterator>

#include "host/metrics/utf8.hpp"

namespace smg {
namespace {

// As much of valid UTF-8 as has so many characters.
std::string_view cut(std::string_view text, std::size_t characters) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) continue;
    if (characters-- == 0) return text.substr(0, i);
  }
  return text;
}

void append(std::string& out, std::string_view name, std::string_view value) {
  out += out.size() > 1 ? ",\"" : "\"";
  out += name;
  out += "\":\"";
  const std::string valid = valid_utf8(value, 4 * AuditRecord::kMostOfField + 4);
  const std::string_view text = cut(valid, AuditRecord::kMostOfField);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0u;
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[i];
    } else if (byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
    } else if (byte == 0xc2 && next < 0xa0) {  // the second range of control characters
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", next);
      ++i;
    } else {
      out += text[i];
    }
  }
  out += '"';
}

}  // namespace

std::string audit_line(const AuditRecord& record, std::uint64_t milliseconds) {
  const auto seconds = static_cast<std::time_t>(milliseconds / 1000);
  std::string out = "{";
  append(out, "timestamp",
         fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), milliseconds % 1000));
  append(out, "principal", record.principal);
  append(out, "auth_method", record.auth_method);
  append(out, "role", record.role);
  append(out, "method", record.method);
  append(out, "path", record.path);
  append(out, "resource", record.resource);
  append(out, "outcome", record.success ? "success" : "denied");
  append(out, "request_id", record.request_id);
  append(out, "details", record.details);
  out += '}';
  return out;
}

void write_audit(const AuditRecord& record) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  spdlog::info("audit {}", audit_line(record, static_cast<std::uint64_t>(milliseconds)));
}

}  // namespace smg
