// Looks at workers through their transports, each answered exactly once, whatever the transport
// does.
//
// Control thread. A transport gets a number to answer with: an answer that comes twice, too late or
// on another thread finds nobody, and is counted. One that does not come is made here.
#pragma once

#include <functional>

#include "host/fleet/endpoint.hpp"
#include "smg/transport.h"

namespace smg {

// Calls `done` once, perhaps from within; the result is valid during the call. REQUIRES: on a loop.
void start_probe(const Endpoint& endpoint, const smg_probe& probe,
                 std::function<void(const smg_probe_result& result)> done);

}  // namespace smg
