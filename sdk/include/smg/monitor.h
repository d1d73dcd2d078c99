// smg/monitor.h - a load source: how one load report of one worker is got.
//
// The host decides which source serves which worker (the best score, or what the configuration
// pins), when to poll, and what a report means. A monitor only knows how to get one. Most ask the
// worker through the fleet service's call(), so they need no client of their own. A source whose
// engine pushes implements no poll and hands reports to fleet.report() whenever they come.
#ifndef SMG_MONITOR_H
#define SMG_MONITOR_H

#include "smg/host.h"
#include "smg/load.h"
#include "smg/worker.h"

// [control] The answer to a poll: a report, or NULL with a cause (SMG_NO_REPORT_*) and a sentence.
// Exactly once per poll, perhaps from within it; late or second answers are dropped and counted.
typedef void (*smg_poll_done)(uint64_t ticket, const smg_load_report* report, uint32_t cause,
                              smg_view detail);

typedef struct smg_monitor_api {
  uint32_t struct_size;
  uint32_t reserved;
  // [control] See smg/policy.h.
  smg_status (*create)(const smg_host* host, void** self, smg_error* error);
  void (*destroy)(void* self);
  // [control] How well this source suits the worker: 0 not at all, 100 made for it.
  uint32_t (*match)(void* self, const smg_worker* worker);
  // [control] The worker is served from now on, until detach. It stays valid between the two.
  smg_status (*attach)(void* self, const smg_worker* worker, void** source, smg_error* error);
  void (*detach)(void* source);
  // [control] Get one report. Not called again for the same source before `done`. NULL: it only
  // pushes.
  void (*poll)(void* source, uint64_t ticket, uint64_t timeout_ns, smg_poll_done done);
} smg_monitor_api;

#endif
