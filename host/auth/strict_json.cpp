#include "host/auth/strict_json.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <set>
#include <vector>

namespace smg {
namespace {

namespace json = boost::json;
using Code = boost::system::error_code;

// Hears a document, and whether an object in it has a name twice. The library itself would take
// the last one.
struct Names {
  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_array_size = std::size_t(-1);
  static constexpr std::size_t max_key_size = std::size_t(-1);
  static constexpr std::size_t max_string_size = std::size_t(-1);

  std::vector<std::set<std::string>> open;
  std::string name;
  bool twice = false;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) {
    open.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, Code&) {
    open.pop_back();
    return true;
  }
  bool on_array_begin(Code&) { return true; }
  bool on_array_end(std::size_t, Code&) { return true; }
  bool on_key_part(json::string_view part, std::size_t, Code&) {
    name.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, std::size_t, Code&) {
    name.append(part.data(), part.size());
    twice |= !open.back().insert(std::move(name)).second;
    name.clear();
    return true;
  }
  bool on_string_part(json::string_view, std::size_t, Code&) { return true; }
  bool on_string(json::string_view, std::size_t, Code&) { return true; }
  bool on_number_part(json::string_view, Code&) { return true; }
  bool on_int64(std::int64_t, json::string_view, Code&) { return true; }
  bool on_uint64(std::uint64_t, json::string_view, Code&) { return true; }
  bool on_double(double, json::string_view, Code&) { return true; }
  bool on_bool(bool, Code&) { return true; }
  bool on_null(Code&) { return true; }
  bool on_comment_part(json::string_view, Code&) { return true; }
  bool on_comment(json::string_view, Code&) { return true; }
};

}  // namespace

std::optional<json::object> parse_strict_object(std::string_view text, std::string& reason) {
  Code problem;
  json::basic_parser<Names> names{json::parse_options()};
  names.write_some(false, text.data(), text.size(), problem);
  json::value value;
  if (!problem) value = json::parse(json::string_view(text.data(), text.size()), problem);
  if (problem) {
    reason = "is not JSON";
  } else if (!value.is_object()) {
    reason = "is no JSON object";
  } else if (names.handler().twice) {
    reason = "has a name twice";
  } else {
    return std::move(value.get_object());
  }
  return std::nullopt;
}

const json::string* text_member(const json::object& object, std::string_view name) {
  const auto* value = object.if_contains(json::string_view(name.data(), name.size()));
  return value == nullptr ? nullptr : value->if_string();
}

}  // namespace smg
