// A [[worker]] table as a WorkerSpec.
#pragma once

#include <string>

#include "host/config/document.hpp"
#include "host/config/problems.hpp"
#include "host/config/worker_spec.hpp"

namespace smg {

// `file` begins the messages. The result is usable only if no problem was added.
WorkerSpec read_worker(const Node& table, const std::string& file, Problems& problems);

}  // namespace smg
