// From what was asked for and what a look at the worker found out to the description that is
// registered.
#pragma once

#include <string>

#include "host/config/config.hpp"
#include "host/fleet/overload.hpp"
#include "host/fleet/worker.hpp"
#include "smg/transport.h"

namespace smg {

// What cannot be registered: a sentence that names worker, field and reason. Empty: nothing.
std::string refusal(const WorkerSpec& spec);

// As the specification says.
WorkerDescription describe_worker(const WorkerSpec& spec, std::string id, const Config& config);

// What the gateway's configuration says where the worker has no value of its own. It may change
// while the worker is there, so nobody keeps it.
Ceilings ceilings_of(const WorkerDescription& description, const Overload& common);
WorkerRuntime::Settings runtime_settings_of(const WorkerDescription& description,
                                            const Config& config);

// Adds what the worker says of itself. What was asked for wins.
void add_findings(WorkerDescription& description, const smg_probe_result& found,
                  const Config& config);

}  // namespace smg
