// What the test says to a worker, one order per datagram. Words that the fleet service has are
// passed on as they are:
//
//   contact
//   progress TOKENS
//   connection_failed CHANNEL
//   tracked_load DELTA
//   prefill_pending DELTA
//   first_response TOKENS
//   report [waiting=N] [silence_ms=N] [steps=0|1] [pending=N]      a pushed record
//
// The rest is about how the engine behaves:
//
//   pour | finish        an event for each open stream, or its end
//   broken on|off        requests fail to connect
//   unwell on|off        probes fail
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "smg/cpp/fleet.hpp"
#include "streams.hpp"

namespace puppet {

// How an engine behaves. Written by orders on the control loop, read by requests on theirs.
struct Engine {
  std::string url;
  uint64_t worker = 0;
  std::atomic<bool> broken{false};
  std::atomic<bool> unwell{false};
};

// Carries the order out, and returns `ok` or what is wrong with it. [control]
std::string obey(std::string_view order, Engine& engine, const smg::Fleet& fleet, Streams& streams);

}  // namespace puppet
