// One plugin that passed the checks: its descriptor in this side's layout, and the library that it
// lives in.
//
// Whatever ABI minor the library was built with, `descriptor`, its options and its table of
// functions have the size and stride of this gateway's headers; members that the library does not
// know are zero. Texts stay in the library, which is mapped as long as a Plugin of it lives.
// Immutable, any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/base/views.hpp"
#include "host/plugin/library.hpp"
#include "smg/monitor.h"
#include "smg/plugin.h"
#include "smg/policy.h"
#include "smg/transport.h"

namespace smg {

struct Plugin {
  Plugin() = default;
  Plugin(const Plugin&) = delete;  // `descriptor` points into the other members
  Plugin& operator=(const Plugin&) = delete;

  smg_plugin descriptor{};
  std::vector<smg_option> options;
  std::variant<smg_policy_api, smg_transport_api, smg_monitor_api> api;
  std::shared_ptr<PluginLibrary> library;

  std::uint32_t kind() const { return descriptor.kind; }
  std::string_view name() const { return text(descriptor.name); }
  // REQUIRES: of that kind.
  const smg_policy_api& policy() const { return std::get<smg_policy_api>(api); }
  const smg_transport_api& transport() const { return std::get<smg_transport_api>(api); }
  const smg_monitor_api& monitor() const { return std::get<smg_monitor_api>(api); }
};

// `policy`, `transport`, `monitor`; `plugin` for an unknown number.
std::string_view kind_name(std::uint32_t kind);

}  // namespace smg
