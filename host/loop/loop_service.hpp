// The event loops and the resolver as plugins see them: the tables of smg/host.h over one
// LoopGroup.
//
// A process has one such group; install it before the first plugin is created and keep it until the
// last is gone.
#pragma once

#include "host/loop/loop_group.hpp"
#include "host/loop/resolver.hpp"
#include "smg/host.h"

namespace smg {

void install_loop_service(LoopGroup* loops, Resolver* resolver);
const smg_loop_service& loop_service();
const smg_resolve_service& resolve_service();

}  // namespace smg
