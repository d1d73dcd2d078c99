// Answers that need no worker: health, readiness, the list of models.
#pragma once

#include "host/http/listener_loop.hpp"
#include "host/routing/client.hpp"
#include "host/routing/route.hpp"

namespace smg {

void answer_locally(Client& client, const Route& route, ListenerLoop& env);

}  // namespace smg
