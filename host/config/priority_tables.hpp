// The tables of the priority scheduler: `classes.NAME` and `tenant_policies.TENANT`, below
// [priority_scheduler] or at the top of the file that priority_scheduler.config names.
#pragma once

#include "host/config/load.hpp"

namespace smg {

// Reads `node` of [priority_scheduler] if it is one of the two; false: it is another key.
bool read_priority_table(Draft& draft, const Node& node);

// Reads the file that priority_scheduler.config names, if it does.
void read_priority_file(Draft& draft);

}  // namespace smg
