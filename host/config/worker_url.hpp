// A worker's URL: `scheme://host[:port][/base/path]`, or `ipc://path`.
//
// Schemes are http, https, grpc, grpcs and ipc, in lower case. Credentials, query and fragment are
// refused. Trailing slashes do not count and are dropped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smg {

struct WorkerUrl {
  std::string text;  // as given, without trailing slashes
  std::string scheme;
  std::string host;        // lower case, IPv6 without brackets; empty for ipc
  std::uint16_t port = 0;  // explicit or the scheme's (80, 443 for https and grpcs); 0 for ipc
  std::string base_path;   // empty or with a leading slash; the socket's path for ipc

  bool operator==(const WorkerUrl&) const = default;
};

// Nothing, and in `reason` what is wrong and what would be right. The reason does not repeat the
// URL.
std::optional<WorkerUrl> parse_worker_url(std::string_view text, std::string& reason);

// The same for two URLs that lead to the same place, however they are written.
std::string endpoint_key(const WorkerUrl& url);

// A credential goes into a header: what is wrong with it, or nothing. Does not repeat it.
std::string credential_problem(std::string_view text);

// For messages: `text` with whatever may be a credential before an `@` replaced by `***`.
std::string printable_url(std::string_view text);

}  // namespace smg
