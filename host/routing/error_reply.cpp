#include "host/routing/error_reply.hpp"

#include "host/metrics/utf8.hpp"
#include "host/routing/request/json_string.hpp"

namespace smg {

std::string_view reason_phrase(std::uint32_t status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Payload Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return status < 400 ? "OK" : "Error";
  }
}

void append_json_string(std::string& out, std::string_view text) {
  append_quoted(out, valid_utf8(text));
}

std::string error_body(std::uint32_t status, std::string_view code, std::string_view message) {
  // The type is the reason phrase, with one exception that the overload specification states.
  const std::string_view type =
      code == "worker_overload_protection_shed" ? "server_error" : reason_phrase(status);
  std::string body = "{\"error\":{\"type\":";
  append_json_string(body, type);
  body += ",\"code\":";
  append_json_string(body, code);
  body += ",\"message\":";
  append_json_string(body, message);
  body += ",\"param\":null}}";
  return body;
}

}  // namespace smg
