// The whole check of one library, and the report about it.
#pragma once

#include "host/check/command.hpp"

namespace smg::check {

// Runs all rules and prints what they found as they go; with --json, one document at the end.
// Returns the exit code. REQUIRES: this process has one thread.
int report(const Command& command);

}  // namespace smg::check
