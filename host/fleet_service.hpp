// The service `smg.fleet`: what transports and monitors tell about workers, and their calls to
// them.
#pragma once

#include "host/fleet/calls.hpp"
#include "host/fleet/registry.hpp"
#include "host/load/load_poller.hpp"
#include "smg/host.h"

namespace smg {

// What stands behind the table, reached as HostServices::gateway. Outlives the plugins' instances.
// All of it is there before the first worker; notes that come earlier are dropped.
struct FleetDesk {
  Loop* control = nullptr;
  Registry* registry = nullptr;
  Calls* calls = nullptr;
  LoadPoller* loads = nullptr;
};

const smg_fleet_service& fleet_service();

}  // namespace smg
