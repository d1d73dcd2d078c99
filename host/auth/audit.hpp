// Who used the admin routes, or tried to: one line of JSON for each request, in the log.
//
// Any thread. Nothing in a record is a secret, if the fields are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace smg {

struct AuditRecord {
  static constexpr std::size_t kMostOfField = 1024;  // characters; what is longer is cut

  std::string_view principal;
  std::string_view auth_method;
  std::string_view role;
  std::string_view method;
  std::string_view path;
  std::string_view resource;
  bool success = false;
  std::string_view request_id;
  std::string_view details;
};

// `milliseconds` since 1970.
std::string audit_line(const AuditRecord& record, std::uint64_t milliseconds);
// Logs the line, with the time that it is.
void write_audit(const AuditRecord& record);

}  // namespace smg
