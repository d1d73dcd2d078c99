#include "host/routing/request/body_error.hpp"

#include "host/base/views.hpp"
#include "host/routing/request/json_string.hpp"

namespace smg {
namespace {

std::string_view prefix(BodyFault fault) {
  switch (fault) {
    case BodyFault::malformed:
      return "JSON syntax error: ";
    case BodyFault::wrong_shape:
      return "Invalid JSON data: ";
    case BodyFault::grew_too_large:
    case BodyFault::unreadable:
      return "Failed to parse JSON: ";
    default:
      return "";
  }
}

}  // namespace

std::uint32_t BodyError::status() const {
  if (fault == BodyFault::too_large) return 413;
  if (extractor == Extractor::validated) return 400;
  switch (fault) {
    case BodyFault::wrong_shape:
      return 422;
    case BodyFault::content_type:
      return 415;
    case BodyFault::grew_too_large:
      return 413;
    default:
      return 400;
  }
}

std::string_view BodyError::content_type() const {
  if (extractor == Extractor::plain || fault == BodyFault::too_large)
    return "text/plain; charset=utf-8";
  return "application/json";
}

std::string BodyError::body() const {
  std::string text(prefix(fault));
  text += message;
  if (extractor == Extractor::plain || fault == BodyFault::too_large) return text;
  std::string out = "{\"error\":{\"message\":";
  append_quoted(out, text);
  out += ",\"type\":\"invalid_request_error\",\"code\":";
  out += fault == BodyFault::bad_value ? "400" : "\"json_parse_error\"";
  out += "}}";
  return out;
}

bool is_json_content_type(std::string_view value) {
  if (value == "application/json") return true;
  value = value.substr(0, value.find(';'));
  while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  static constexpr std::string_view kType = "application/";
  static constexpr std::string_view kSuffix = "+json";
  if (!equals_ignoring_case(value.substr(0, kType.size()), kType)) return false;
  value.remove_prefix(kType.size());
  if (equals_ignoring_case(value, "json")) return true;
  return value.size() > kSuffix.size() && value.find_first_of(" \t,/") == std::string_view::npos &&
         equals_ignoring_case(value.substr(value.size() - kSuffix.size()), kSuffix);
}

BodyError check_content_type(Extractor extractor, std::string_view value) {
  if (is_json_content_type(value)) return {};
  return {BodyFault::content_type, extractor, "Missing Content-Type: application/json header"};
}

}  // namespace smg
