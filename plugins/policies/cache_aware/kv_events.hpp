// SMG_EVENT_KV_BLOCKS, applied to the index of every model that the worker is a member of.
#pragma once

#include "models.hpp"
#include "smg/events.h"

namespace cache_aware {

// [bus] `now`: whole seconds of the host's monotonic clock.
void apply(const smg_event_kv& event, const Models& models, uint32_t now);

}  // namespace cache_aware
