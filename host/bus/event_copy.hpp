// A deep copy of an event in one piece of memory.
//
// Events of a publisher with an older or newer ABI are brought to this side's layout: members that
// the publisher does not know are zero, members that this side does not know are left out, and load
// reports get this side's rank stride.
#pragma once

#include <memory>

#include "smg/events.h"

namespace smg {

// The type is known, and sizes are such that somebody may have meant them. Any thread.
bool plausible(const smg_event& event);

// nullptr if it is not plausible. Any thread.
std::shared_ptr<smg_event> copy_event(const smg_event& event);

}  // namespace smg
