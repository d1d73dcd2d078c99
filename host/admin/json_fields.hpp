// Reads typed fields of a JSON object, as strictly as an API has to: a number in quotes is no
// number.
//
// The first thing that is wrong is kept in `error`, with the path of its field; what is read after
// that does not count. Keys that nobody asks for are not looked at. Pure, any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace smg {

class JsonFields {
 public:
  JsonFields(const boost::json::object& object, std::string path, std::string& error)
      : object_(object), path_(std::move(path)), error_(error) {}

  // The value, or nullptr if the key is absent, or null where that may stand for absent.
  const boost::json::value* find(std::string_view key, bool null_is_absent = true) const {
    const auto* value = object_.if_contains(boost::json::string_view(key.data(), key.size()));
    return value != nullptr && null_is_absent && value->is_null() ? nullptr : value;
  }

  template <class T>
  void read(std::string_view key, T& to) const {
    if (const auto* value = find(key, false)) take(key, *value, to);
  }
  template <class T>
  void read(std::string_view key, std::optional<T>& to) const {
    const auto* value = find(key);
    if (value == nullptr) return;
    T read{};
    if (take(key, *value, read)) to = std::move(read);
  }
  // The fields of an inner object; nothing if it is absent.
  std::optional<JsonFields> inner(std::string_view key) const {
    const auto* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_object()) {
      fail(key, *value, "an object");
      return std::nullopt;
    }
    return JsonFields(value->get_object(), path_ + std::string(key) + ".", error_);
  }

  void fail(std::string_view key, const boost::json::value& value, std::string_view wanted) const {
    refuse(key, kind(value), wanted);
  }
  void refuse(std::string_view key, std::string_view value, std::string_view wanted) const {
    if (!error_.empty()) return;
    error_ = path_ + std::string(key) + ": is " + std::string(value) + ", must be " +
             std::string(wanted);
  }
  bool failed() const { return !error_.empty(); }

 private:
  static std::string kind(const boost::json::value& value) {
    switch (value.kind()) {
      case boost::json::kind::null:
        return "null";
      case boost::json::kind::bool_:
        return "a boolean";
      case boost::json::kind::int64:
        return std::to_string(value.get_int64());
      case boost::json::kind::uint64:
        return std::to_string(value.get_uint64());
      case boost::json::kind::double_:
        return "a number that is large or has a fraction";
      case boost::json::kind::string:
        return "a string";
      case boost::json::kind::array:
        return "an array";
      case boost::json::kind::object:
        return "an object";
    }
    return "something else";
  }

  bool take(std::string_view key, const boost::json::value& value, bool& to) const {
    if (!value.is_bool()) return fail(key, value, "true or false"), false;
    to = value.get_bool();
    return true;
  }
  bool take(std::string_view key, const boost::json::value& value, double& to) const {
    if (!value.is_number()) return fail(key, value, "a number"), false;
    to = value.to_number<double>();
    if (!std::isfinite(to))
      return refuse(key, "too large", "a number that a double can hold"), false;
    return true;
  }
  bool take(std::string_view key, const boost::json::value& value, std::string& to) const {
    if (!value.is_string()) return fail(key, value, "a string"), false;
    to.assign(value.get_string().data(), value.get_string().size());
    return true;
  }
  template <class T>
  requires(std::is_integral_v<T> &&
           !std::is_same_v<T, bool>) bool take(std::string_view key,
                                               const boost::json::value& value, T& to) const {
    using Limits = std::numeric_limits<T>;
    const bool fits = (value.is_int64() && std::in_range<T>(value.get_int64())) ||
                      (value.is_uint64() && std::in_range<T>(value.get_uint64()));
    if (!fits) {
      fail(key, value,
           "an integer from " + std::to_string(Limits::min()) + " to " +
               std::to_string(Limits::max()));
      return false;
    }
    to = value.is_int64() ? static_cast<T>(value.get_int64()) : static_cast<T>(value.get_uint64());
    return true;
  }
  template <class T>
  bool take(std::string_view key, const boost::json::value& value, std::vector<T>& to) const {
    if (!value.is_array()) return fail(key, value, "an array"), false;
    std::vector<T> items;
    for (const auto& item : value.get_array()) {
      const std::string place = std::string(key) + "[" + std::to_string(items.size()) + "]";
      if (!take(place, item, items.emplace_back())) return false;
    }
    to = std::move(items);
    return true;
  }

  const boost::json::object& object_;
  const std::string path_;
  std::string& error_;
};

}  // namespace smg
