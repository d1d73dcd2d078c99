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
};

// How a bad body is reported.
enum class BodyRules : std::uint8_t { none, validated, plain };

struct Route {
  std::string_view method;
  std::string_view path;
  Action action = Action::relay;
  std::uint32_t endpoint = SMG_ENDPOINT_OTHER;
  BodyRules rules = BodyRules::none;
  std::string_view worker_path;  // relay: where at the worker
  std::string_view label;        // `endpoint` label of the router's metrics
};

}  // namespace smg
