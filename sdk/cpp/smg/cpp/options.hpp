// The plugin's options, read by name in create() on the control thread.
//
// The host has checked them against the descriptor, so a read fails only for an option that the
// descriptor does not declare, declares with another type, or declares without a default: then it
// throws smg::Error. The find_ forms answer nullopt where an option without a default was not
// given. Views live until destroy.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "smg/cpp/host.hpp"

namespace smg {

class Options {
 public:
  explicit Options(Host host)
      : host_(host.raw()), table_(host.require<smg_options_service>(SMG_SERVICE_OPTIONS)) {}

  std::optional<bool> find_bool(std::string_view name) const {
    uint32_t value = 0;
    if (!given(name, table_->get_bool(host_, view(name), &value))) return std::nullopt;
    return value != 0;
  }
  std::optional<int64_t> find_int(std::string_view name) const {
    int64_t value = 0;
    if (!given(name, table_->get_int(host_, view(name), &value))) return std::nullopt;
    return value;
  }
  std::optional<double> find_float(std::string_view name) const {
    double value = 0;
    if (!given(name, table_->get_float(host_, view(name), &value))) return std::nullopt;
    return value;
  }
  std::optional<std::string_view> find_string(std::string_view name) const {
    smg_view value{};
    if (!given(name, table_->get_string(host_, view(name), &value))) return std::nullopt;
    return text(value);
  }
  std::optional<std::span<const smg_view>> find_list(std::string_view name) const {
    const smg_view* values = nullptr;
    uint32_t count = 0;
    if (!given(name, table_->get_list(host_, view(name), &values, &count))) return std::nullopt;
    return std::span<const smg_view>(values, count);
  }

  bool get_bool(std::string_view name) const { return must(name, find_bool(name)); }
  int64_t get_int(std::string_view name) const { return must(name, find_int(name)); }
  double get_float(std::string_view name) const { return must(name, find_float(name)); }
  std::string_view get_string(std::string_view name) const { return must(name, find_string(name)); }
  std::span<const smg_view> get_list(std::string_view name) const {
    return must(name, find_list(name));
  }

 private:
  static bool given(std::string_view name, smg_status status) {
    if (status == SMG_E_NOT_FOUND) return false;
    if (status != SMG_OK) {
      throw Error(status, "option `" + std::string(name) +
                              "` cannot be read: the descriptor must declare it with this type");
    }
    return true;
  }

  template <class T>
  static T must(std::string_view name, std::optional<T> value) {
    if (!value) {
      throw Error(SMG_E_INVALID,
                  "option `" + std::string(name) + "` must be set: it has no default");
    }
    return *value;
  }

  const smg_host* host_;
  const smg_options_service* table_;
};

}  // namespace smg
