// The services of loop, resolver and fleet as a plugin under check sees them: each call from a
// thread that its tag does not allow is a complaint, and has no effect.
//
// REQUIRES: HostServices::gateway of the calling instance is a Rig.
#pragma once

#include "smg/host.h"

namespace smg::check {

const smg_loop_service& checked_loop_service();
const smg_resolve_service& checked_resolve_service();
const smg_fleet_service& checked_fleet_service();

}  // namespace smg::check
