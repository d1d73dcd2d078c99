// A worker's URL: `scheme://host[:port][/base/path]`, or `ipc://path`.
//
// Schemes are in lower case: http, https, grpc, grpcs and ipc, or one that a transport plugin
// brings (whether there is such a plugin is not asked here). Credentials, query and fragment are
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
  std::string host;  // lower case, IPv6 without brackets; empty for ipc
  // Explicit or the scheme's: 80 for http and grpc, 443 for https and grpcs; else 0: it has none.
  std::uint16_t port = 0;
  std::string base_path;  // empty or with a leading slash; the socket's path for ipc

  bool operator==(const WorkerUrl&) const = default;
};

// Nothing, and in `reason` what is wrong and what would be right. The reason does not repeat the
// URL.
std::optional<WorkerUrl> parse_worker_url(std::string_view text, std::string& reason);

// One that the gateway knows by itself, whether or not a plugin serves it.
bool is_common_scheme(std::string_view scheme);

// The same for two URLs that lead to the same place, however they are written.
std::string endpoint_key(const WorkerUrl& url);

// A credential goes into a header: what is wrong with it, or nothing. Does not repeat it.
std::string credential_problem(std::string_view text);

// For messages: `text` with whatever may be a credential, before an `@` or in a query, replaced by
// `***`.
std::string printable_url(std::string_view text);

}  // namespace smg
