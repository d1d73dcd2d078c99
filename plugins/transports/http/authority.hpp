// Host and port as URLs write them: an IPv6 address stands in brackets.
#pragma once

#include <string>
#include <string_view>

namespace smg::http {

inline std::string bracketed(std::string_view host) {
  std::string text(host);
  if (host.find(':') == std::string_view::npos) return text;
  text.insert(text.begin(), '[');
  text.push_back(']');
  return text;
}

inline std::string authority(std::string_view host, unsigned port) {
  return bracketed(host).append(":").append(std::to_string(port));
}

}  // namespace smg::http
