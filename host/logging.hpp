// The process's log: asynchronous, to standard output and optionally to a file, as text or as JSON
// lines.
#pragma once

#include <string>

#include "host/config/config.hpp"

namespace smg {

// Makes the default logger of spdlog. A sentence if the log directory cannot be used.
std::string start_logging(const Log& config);
// From now on. Any thread.
void set_log_level(const std::string& level);
// Writes out what is queued.
void stop_logging();

}  // namespace smg
