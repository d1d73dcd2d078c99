#include "host/http/cors.hpp"

#include <algorithm>

namespace smg {

void append_cors_headers(std::string& out, const std::vector<std::string>& allowed,
                         std::string_view origin) {
  if (allowed.empty()) {
    out += "access-control-allow-origin: *\r\naccess-control-expose-headers: *\r\n";
    return;
  }
  out += "vary: origin\r\n";
  if (std::find(allowed.begin(), allowed.end(), origin) == allowed.end()) return;
  out += "access-control-allow-origin: ";
  out += origin;
  out += "\r\naccess-control-expose-headers: x-request-id\r\n";
}

std::string_view preflight_headers(const std::vector<std::string>& allowed) {
  if (allowed.empty()) {
    return "access-control-allow-methods: *\r\naccess-control-allow-headers: *\r\n"
           "access-control-max-age: 3600\r\n";
  }
  return "access-control-allow-methods: GET, POST, PATCH, DELETE, OPTIONS\r\n"
         "access-control-allow-headers: content-type, authorization\r\n"
         "access-control-max-age: 3600\r\n";
}

}  // namespace smg
