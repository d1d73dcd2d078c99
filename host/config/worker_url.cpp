#include "host/config/worker_url.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace smg {
namespace {

bool is_name(const std::string& host) {
  if (host.empty() || host.size() > 253 || host[0] == '.' || host.find("..") != std::string::npos)
    return false;
  const bool fine = std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  });
  if (!fine) return false;
  // With a number at its end it is meant as an IPv4 address, and has to be one.
  const std::size_t last = host.rfind('.') + 1;
  if (host.find_first_not_of("0123456789", last) != std::string::npos || last == host.size())
    return true;
  in_addr ignored{};
  return inet_pton(AF_INET, host.c_str(), &ignored) == 1;
}

// Without what has to be percent-encoded, and with two digits behind every `%`.
bool is_path(std::string_view path) {
  constexpr std::string_view kHex = "0123456789abcdefABCDEF";
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (std::string_view("\"<>\\^`{|}[]").find(path[i]) != std::string_view::npos) return false;
    if (path[i] == '%' && (i + 2 >= path.size() || kHex.find(path[i + 1]) == kHex.npos ||
                           kHex.find(path[i + 2]) == kHex.npos)) {
      return false;
    }
  }
  return true;
}

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  return text;
}

std::uint16_t default_port(std::string_view scheme) {
  if (scheme == "https" || scheme == "grpcs") return 443;
  return scheme == "http" || scheme == "grpc" ? 80 : 0;
}

// RFC 3986, section 3.1, in lower case.
bool is_scheme(std::string_view scheme) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !scheme.empty() && scheme.size() <= 32 && letter(scheme[0]) &&
         std::all_of(scheme.begin(), scheme.end(), [&](char c) {
           return letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
         });
}

}  // namespace

std::optional<WorkerUrl> parse_worker_url(std::string_view text, std::string& reason) {
  constexpr std::size_t kLongest = 2048;
  WorkerUrl url;
  if (text.size() > kLongest) {
    reason = "is longer than 2048 characters";
    return std::nullopt;
  }
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
      reason = "contains a blank, a control character or one that is not ASCII";
      return std::nullopt;
    }
  }
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) {
    reason = "has no scheme; a worker's URL is written like http://host:8000";
    return std::nullopt;
  }
  url.scheme = text.substr(0, colon);
  if (!is_scheme(url.scheme)) {
    reason =
        "has a wrong scheme; schemes are http, https, grpc, grpcs, ipc, or what a transport plugin "
        "names, in lower case";
    return std::nullopt;
  }
  std::string_view rest = text.substr(colon + 3);
  if (url.scheme == "ipc") {
    if (rest.empty()) {
      reason = "has no path; write ipc:///path/of/socket";
      return std::nullopt;
    }
    url.text = text;
    url.base_path = rest;
    return url;
  }
  if (rest.find_first_of("?#") != std::string_view::npos) {
    reason = "has a query or a fragment; a worker's URL ends with its path";
    return std::nullopt;
  }
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  std::string_view path = rest.substr(slash);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (authority.find('@') != std::string_view::npos) {
    reason = "has credentials; use api_key";
    return std::nullopt;
  }
  if (!is_path(path)) {
    reason = "has a path with characters that must be percent-encoded";
    return std::nullopt;
  }
  std::string_view port;
  bool has_port = false;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    const std::string_view behind =
        close == std::string_view::npos ? std::string_view{} : authority.substr(close + 1);
    in6_addr ignored{};
    if (close != std::string_view::npos) url.host = authority.substr(1, close - 1);
    if (inet_pton(AF_INET6, url.host.c_str(), &ignored) != 1 ||
        (!behind.empty() && behind[0] != ':')) {
      reason = "has an IPv6 address that is not one";
      return std::nullopt;
    }
    url.host = lower(url.host);
    has_port = !behind.empty();
    if (has_port) port = behind.substr(1);
  } else {
    const std::size_t at = authority.find(':');
    url.host = authority.substr(0, at);
    has_port = at != std::string_view::npos;
    if (has_port) port = authority.substr(at + 1);
    url.host = lower(url.host);
    if (!is_name(url.host)) {
      reason = "has no valid host name";
      return std::nullopt;
    }
  }
  url.port = default_port(url.scheme);
  if (has_port) {
    unsigned number = 0;
    const auto [end, code] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (code != std::errc() || end != port.data() + port.size() || number == 0 || number > 65535) {
      reason = "has the port '" + std::string(port) + "'; ports are 1 to 65535";
      return std::nullopt;
    }
    url.port = static_cast<std::uint16_t>(number);
  }
  url.base_path = path;
  url.text = std::string(text.substr(0, colon + 3)) + std::string(authority) + std::string(path);
  return url;
}

bool is_common_scheme(std::string_view scheme) {
  static constexpr std::string_view kSchemes[] = {"http", "https", "grpc", "grpcs", "ipc"};
  return std::find(std::begin(kSchemes), std::end(kSchemes), scheme) != std::end(kSchemes);
}

std::string endpoint_key(const WorkerUrl& url) {
  // No host has a space, so no two places share a key.
  return url.scheme + ' ' + url.host + ' ' + std::to_string(url.port) + ' ' + url.base_path;
}

std::string credential_problem(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f) return "must be visible ASCII characters without blanks";
  }
  return {};
}

std::string printable_url(std::string_view text) {
  const std::size_t scheme = text.find("://");
  const std::size_t begin = scheme == std::string_view::npos ? 0 : scheme + 3;
  const std::size_t query = text.find('?', begin);
  const std::string tail = query < text.size() ? "?***" : "";
  const std::string_view shown = text.substr(0, query);
  const std::size_t at = shown.find('@', begin);
  if (at == std::string_view::npos || at > std::min(shown.find('/', begin), shown.size())) {
    return std::string(shown) + tail;
  }
  return std::string(shown.substr(0, begin)) + "***" + std::string(shown.substr(at)) + tail;
}

}  // namespace smg
