// JSON objects whose every name stands there once, at any depth: what is signed must not be read
// in two ways.
//
// Pure, any thread.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace smg {

// Nothing, and in `reason` what is wrong: "is not JSON", "is no JSON object", ...
std::optional<boost::json::object> parse_strict_object(std::string_view text, std::string& reason);

// The text of a member; nullptr if it is absent or something else. Lives as long as `object`.
const boost::json::string* text_member(const boost::json::object& object, std::string_view name);

}  // namespace smg
