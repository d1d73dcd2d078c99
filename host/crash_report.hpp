// Says in whose code the process dies.
//
// A plugin runs in the gateway's process, so one that crashes takes it along: the last words name
// the library and the function, for whoever reads the log.
#pragma once

namespace smg {

// Before other threads are made. Has no effect in instrumented builds, whose runtime says more.
void install_crash_report();

}  // namespace smg
