// The bytes of the one chat-completion request that every connection sends.
#pragma once

#include <string>

#include "options.hpp"

namespace smg::bench {

/// Head and body. The body carries the fields a chat client usually sends plus the simulated
/// engine's `sim_tokens` and `sim_interval_ms`, and is padded to `body_bytes` when that is longer.
std::string make_request(const Options& options);

}  // namespace smg::bench
