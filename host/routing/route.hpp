// The routes of the listener: method, path, and what happens there.
#pragma once

#include <cstdint>
#include <string_view>

#include "smg/transport.h"

namespace smg {

enum class Action : std::uint8_t {
  relay,  // to a worker
  health,
  readiness,
  models,
  events,
  // From here on on the control loop.
  add_worker,
  list_workers,
  get_worker,
  replace_worker,
  patch_worker,
  delete_worker,
  loads,
  flush_cache,
  engine_metrics,
  model_info,
  server_info,
  health_generate,
  list_plugins,
  reload_plugin,
  reload_config,
};

constexpr bool is_admin(Action action) {
  return action >= Action::add_worker;
}

// Who may ask.
enum class Access : std::uint8_t {
  open,     // anybody
  serving,  // clients with a serving key; what they send passes admission
  admin,    // who runs the gateway
};

// How a bad body is reported.
enum class BodyRules : std::uint8_t { none, validated, plain };

struct Route {
  std::string_view method;
  std::string_view path;  // may have one {name}, which stands for any one segment
  Action action = Action::relay;
  Access access = Access::open;
  std::uint32_t endpoint = SMG_ENDPOINT_OTHER;
  BodyRules rules = BodyRules::none;
  std::string_view worker_path;  // relay: where at the worker
  std::string_view label;        // `endpoint` label of the router's metrics
};

}  // namespace smg
