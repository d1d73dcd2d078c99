// Helpers over simdjson's On-Demand values. Internal to request_reader.cpp: nothing else includes
// it or simdjson.
//
// A value is taken as the bytes that it stands on. Every offset is checked against the body's end,
// because a broken document can lead the iterator one step into the bytes behind it.
#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>

#include "host/routing/request/body_check.hpp"
#include "host/routing/request/json_string.hpp"

namespace smg::ondemand {

using simdjson::error_code;
using simdjson::SUCCESS;
using Array = simdjson::ondemand::array;
using Object = simdjson::ondemand::object;
using Value = simdjson::ondemand::value;

// The bytes of a value. `token` is the whole of a scalar and the bracket of an array or object.
struct Item {
  Value value;
  std::string_view token;
  JsonType type = JsonType::absent;
};

inline std::string_view trimmed(std::string_view text) {
  while (!text.empty()) {
    const char c = text.back();
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') break;
    text.remove_suffix(1);
  }
  return text;
}

// JsonType::absent for what cannot begin a value. Words are compared in full.
inline JsonType type_of(std::string_view token) {
  switch (token.front()) {
    case '"':
      return JsonType::string;
    case '{':
      return JsonType::object;
    case '[':
      return JsonType::array;
    case 't':
      return token == "true" ? JsonType::yes : JsonType::absent;
    case 'f':
      return token == "false" ? JsonType::no : JsonType::absent;
    case 'n':
      return token == "null" ? JsonType::null : JsonType::absent;
    default: {
      const bool number = token.front() == '-' || (token.front() >= '0' && token.front() <= '9');
      return number ? JsonType::number : JsonType::absent;
    }
  }
}

class Bounds {
 public:
  Bounds(std::string_view body, std::string& scratch)
      : begin_(body.data()), end_(body.data() + body.size()), scratch_(scratch) {}

  std::uint32_t offset(std::string_view text) const {
    return static_cast<std::uint32_t>(text.data() - begin_);
  }
  error_code item(simdjson::simdjson_result<Value> result, Item& item) const {
    if (const error_code error = result.get(item.value)) return error;
    const std::string_view token = item.value.raw_json_token();
    if (token.data() < begin_ || token.data() >= end_) return simdjson::TAPE_ERROR;
    item.token = trimmed(token.substr(0, static_cast<std::size_t>(end_ - token.data())));
    item.type = type_of(item.token);
    return item.type == JsonType::absent ? simdjson::TAPE_ERROR : SUCCESS;
  }
  // All bytes of an item; consumes it.
  error_code bytes(Item& item, std::string_view& bytes) const {
    std::string_view raw = item.token;
    error_code error = SUCCESS;
    if (item.type == JsonType::array) {
      Array array;
      error = item.value.get_array().get(array);
      if (error == SUCCESS) error = array.raw_json().get(raw);
    } else if (item.type == JsonType::object) {
      Object object;
      error = item.value.get_object().get(object);
      if (error == SUCCESS) error = object.raw_json().get(raw);
    }
    if (error != SUCCESS) return error;
    if (raw.data() + raw.size() > end_) return simdjson::TAPE_ERROR;
    bytes = trimmed(raw);
    return SUCCESS;
  }
  // A field's key, unescaped. `raw` is where it stands, without quotes. Valid until the next call.
  error_code key(simdjson::ondemand::raw_json_string key, std::string_view& raw,
                 std::string_view& name) const {
    const char* const begin = key.raw();
    const char* at = begin;
    bool escaped = false;
    for (; at < end_ && *at != '"'; ++at) {
      if (*at == '\\') {
        escaped = true;
        ++at;
      }
    }
    if (at >= end_) return simdjson::TAPE_ERROR;
    raw = name = {begin, static_cast<std::size_t>(at - begin)};
    if (!escaped) return SUCCESS;
    scratch_.clear();
    if (!append_unescaped(scratch_, raw)) return simdjson::STRING_ERROR;
    name = scratch_;
    return SUCCESS;
  }

 private:
  const char* begin_;
  const char* end_;
  std::string& scratch_;
};

inline std::string_view without_quotes(std::string_view token) {
  return token.substr(1, token.size() - 2);
}

// True when nothing stands between the brackets of `bytes`.
inline bool is_empty_container(std::string_view bytes) {
  return trimmed(bytes.substr(0, bytes.size() - 1)).size() == 1;
}

// Whether a string's literal says `text`. An escape that does not exist is an error.
inline error_code says(std::string_view token, std::string_view text, bool& result) {
  const std::string_view raw = without_quotes(token);
  result = raw == text;
  if (result || raw.find('\\') == std::string_view::npos) return SUCCESS;
  std::string plain;
  if (!append_unescaped(plain, raw)) return simdjson::STRING_ERROR;
  result = plain == text;
  return SUCCESS;
}

}  // namespace smg::ondemand
