// From what was asked for and what a look at the worker found out to the description that is
// registered.
#pragma once

#include <string>

#include "host/config/config.hpp"
#include "host/fleet/worker.hpp"
#include "smg/transport.h"

namespace smg {

// What cannot be registered: a sentence that names worker, field and reason. Empty: nothing.
std::string refusal(const WorkerSpec& spec);

// As the specification says; the gateway's values stand in where it is silent.
WorkerDescription describe_worker(const WorkerSpec& spec, std::string id, const Config& config);

// Adds what the worker says of itself. What was asked for wins.
void add_findings(WorkerDescription& description, const smg_probe_result& found,
                  const Config& config);

}  // namespace smg
