// What may be said of a worker's TLS.
#include <algorithm>

#include "host/config/worker_spec.hpp"

namespace smg {

std::string WorkerTls::problem(std::string_view scheme) const {
  if (!given() || scheme.empty()) return {};
  if (scheme != "https") {
    return "is for https workers only, this one's url begins with " + std::string(scheme) +
           "://; write https:// or leave tls out";
  }
  if (client_cert_path.empty() != client_key_path.empty()) {
    return "has one of client_cert_path and client_key_path; set both or none";
  }
  const auto is_empty = [](const std::string& path) { return path.empty(); };
  if (std::any_of(ca_cert_paths.begin(), ca_cert_paths.end(), is_empty)) {
    return "has an empty string in ca_cert_paths; each must be the path of a PEM file";
  }
  return {};
}

}  // namespace smg
