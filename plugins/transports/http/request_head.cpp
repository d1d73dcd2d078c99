#include "request_head.hpp"

#include <charconv>
#include <cstring>

namespace smg::http {
namespace {

constexpr std::string_view kVersion = " HTTP/1.1\r\n";
constexpr std::string_view kLength = "Content-Length: ";

// A request without a body says so only where its method usually has one.
bool announces_length(const smg_request& request) {
  if (request.body_size > 0) return true;
  const std::string_view method = text(request.method);
  return method == "POST" || method == "PUT" || method == "PATCH";
}

std::size_t digits(uint64_t value) {
  std::size_t count = 1;
  while (value >= 10) {
    value /= 10;
    ++count;
  }
  return count;
}

char* put(char* to, std::string_view text) {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

}  // namespace

std::size_t head_size(const Endpoint& endpoint, const smg_request& request) {
  std::size_t size = request.method.size + 1 + endpoint.base_path().size() + request.path.size +
                     kVersion.size() + endpoint.host_line().size() + 2;
  for (uint32_t i = 0; i < request.header_count; ++i) {
    size += request.headers[i].name.size + request.headers[i].value.size + 4;
  }
  if (announces_length(request)) size += kLength.size() + digits(request.body_size) + 2;
  return size;
}

void write_head(const Endpoint& endpoint, const smg_request& request, char* to) {
  to = put(to, text(request.method));
  *to++ = ' ';
  if (!endpoint.base_path().empty()) to = put(to, endpoint.base_path());
  to = put(to, text(request.path));
  to = put(to, kVersion);
  to = put(to, endpoint.host_line());
  for (uint32_t i = 0; i < request.header_count; ++i) {
    to = put(to, text(request.headers[i].name));
    to = put(to, ": ");
    if (request.headers[i].value.size > 0) to = put(to, text(request.headers[i].value));
    to = put(to, "\r\n");
  }
  if (announces_length(request)) {
    to = put(to, kLength);
    to = std::to_chars(to, to + 20, request.body_size).ptr;
    to = put(to, "\r\n");
  }
  put(to, "\r\n");
}

}  // namespace smg::http
