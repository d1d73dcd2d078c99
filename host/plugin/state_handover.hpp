// Hands what one instance has learnt to the one that takes its place: smg/handover.h.
#pragma once

#include <string>
#include <string_view>

#include "host/plugin/instance.hpp"

namespace smg {

inline constexpr std::string_view kNoHandover = "it does not offer to hand anything over";

// Empty if `after` has taken over the state, else why not: kNoHandover where neither side knows
// how. `after` works in any case. Waits for both; on a thread that may.
std::string hand_over_state(const PluginInstance& before, const PluginInstance& after);

}  // namespace smg
