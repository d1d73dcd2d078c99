// Members of a frame. What is missing or has another type reads as empty: an engine that is newer
// or older than this adapter leaves things out.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string_view>

namespace acme {

inline std::string_view text_of(const boost::json::object& frame, std::string_view key) {
  const boost::json::value* const value = frame.if_contains(key);
  const boost::json::string* const text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

inline double real_of(const boost::json::object& frame, std::string_view key) {
  const boost::json::value* const value = frame.if_contains(key);
  if (value == nullptr) return 0;
  if (const auto* whole = value->if_int64()) return static_cast<double>(*whole);
  const auto* real = value->if_double();
  return real == nullptr ? 0 : *real;
}

inline int64_t whole_of(const boost::json::object& frame, std::string_view key) {
  const boost::json::value* const value = frame.if_contains(key);
  const int64_t* const whole = value == nullptr ? nullptr : value->if_int64();
  return whole == nullptr ? 0 : *whole;
}

inline bool flag_of(const boost::json::object& frame, std::string_view key) {
  const boost::json::value* const value = frame.if_contains(key);
  const bool* const flag = value == nullptr ? nullptr : value->if_bool();
  return flag != nullptr && *flag;
}

}  // namespace acme
