// smg/host.h - what the host does for a plugin: tables of functions, asked for by name.
//
// An instance gets an smg_host in create() and asks it for services: host->service(host,
// SMG_SERVICE_LOOP). The answer is a constant table or NULL where this host has no such service.
// Every function takes the smg_host back, so that log lines, metrics and subscriptions are booked
// on the instance they belong to. A plugin has no undefined symbol of the host and runs as well
// against a table of fakes.
#ifndef SMG_HOST_H
#define SMG_HOST_H

#include "smg/abi.h"
#include "smg/events.h"
#include "smg/load.h"
#include "smg/worker.h"

typedef struct smg_host smg_host;
struct smg_host {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;  // the host's own
  // [any] `id` is one of SMG_SERVICE_* or an extension's.
  const void* (*service)(const smg_host* host, const char* id);
};

// ---- log: lines, prefixed with the plugin's name. [any] Never on the data path.
#define SMG_SERVICE_LOG "smg.log/0"
#define SMG_LOG_DEBUG 0u
#define SMG_LOG_INFO 1u
#define SMG_LOG_WARN 2u
#define SMG_LOG_ERROR 3u
typedef struct smg_log_service {
  uint32_t struct_size;
  uint32_t reserved;
  void (*write)(const smg_host* host, uint32_t level, smg_view text);
  uint32_t (*enabled)(const smg_host* host, uint32_t level);
} smg_log_service;

// ---- clock. Virtual in tests, so a plugin takes time from nowhere else.
#define SMG_SERVICE_CLOCK "smg.clock/0"
typedef struct smg_clock_service {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t (*now)(const smg_host* host);      // [any] monotonic ns; on a loop: of this turn
  uint64_t (*unix_ms)(const smg_host* host);  // [any] wall clock
} smg_clock_service;

// ---- options: the plugin's own TOML table, checked against its descriptor and filled with
// defaults. [control] SMG_E_NOT_FOUND: not given and without a default. Views live until destroy.
#define SMG_SERVICE_OPTIONS "smg.options/0"
typedef struct smg_options_service {
  uint32_t struct_size;
  uint32_t reserved;
  smg_status (*get_bool)(const smg_host* host, smg_view name, uint32_t* value);
  smg_status (*get_int)(const smg_host* host, smg_view name, int64_t* value);
  smg_status (*get_float)(const smg_host* host, smg_view name, double* value);
  smg_status (*get_string)(const smg_host* host, smg_view name, smg_view* value);
  smg_status (*get_list)(const smg_host* host, smg_view name, const smg_view** values,
                         uint32_t* count);
} smg_options_service;

// ---- metrics. Register and look up once (slow), then add, set or observe by handle (a few ns).
// Names and labels follow Prometheus; a family already registered with the same labels is shared.
#define SMG_SERVICE_METRICS "smg.metrics/0"
#define SMG_METRIC_COUNTER 1u
#define SMG_METRIC_GAUGE 2u
#define SMG_METRIC_HISTOGRAM 3u
typedef struct smg_metrics_service {
  uint32_t struct_size;
  uint32_t reserved;
  // [any] `bounds`: upper bounds, ascending, histograms only; none: the configured duration
  // buckets.
  smg_status (*family)(const smg_host* host, uint32_t type, smg_view name, smg_view help,
                       const smg_view* labels, uint32_t label_count, const double* bounds,
                       uint32_t bound_count, uint64_t* family);
  // [any] The series with these label values, in the order of the family's labels.
  smg_status (*series)(const smg_host* host, uint64_t family, const smg_view* values,
                       uint32_t value_count, uint64_t* series);
  void (*add)(const smg_host* host, uint64_t series, double value);      // [any] counter, gauge
  void (*set)(const smg_host* host, uint64_t series, double value);      // [any] gauge
  void (*observe)(const smg_host* host, uint64_t series, double value);  // [any] histogram
} smg_metrics_service;

// ---- bus. Each subscriber has a queue of its own, delivered in order of publication; a slow one
// loses its oldest events, never anyone else's, and the loss is counted.
#define SMG_SERVICE_BUS "smg.bus/0"
typedef void (*smg_event_fn)(void* context, const smg_event* event);  // [bus]
typedef struct smg_bus_service {
  uint32_t struct_size;
  uint32_t reserved;
  void (*publish)(const smg_host* host, const smg_event* event);  // [any] copies the event
  // [any] `types`: SMG_EVENT_MASK bits.
  uint64_t (*subscribe)(const smg_host* host, uint64_t types, smg_event_fn fn, void* context);
  // [any] except from inside `fn`: when it returns, `fn` is not running and will not run again.
  void (*unsubscribe)(const smg_host* host, uint64_t subscription);
} smg_bus_service;

// ---- loop: the event loops. Watches, timers and tasks are structs in the plugin's own memory, so
// none of them allocates. Zero them before first use; members named host_* are the host's. A task
// that waits is not taken a second time. What is wrong here (a thread that is no loop, NULL, a
// watch or task that is set already) has no effect and counts as a fault of the plugin. Before
// destroy returns, none of them may be left with a loop.
#define SMG_SERVICE_LOOP "smg.loop/0"
#define SMG_LOOP_NONE 0xffffffffu

#define SMG_READY_IN 1u
#define SMG_READY_OUT 2u
#define SMG_READY_HANGUP 4u  // the peer closed its side, or the connection is broken

// A file descriptor under watch, edge-triggered, for in, out and hang-up at once: registered once
// in its life. `ready` is called when something changed; read or write until EAGAIN or a short
// count.
typedef struct smg_watch smg_watch;
struct smg_watch {
  void (*ready)(smg_watch* watch, uint32_t events);
  int32_t fd;
  uint32_t host_state;
};

// A timer of the loop's coarse wheel: never early, late by at most 20 ms.
typedef struct smg_timer smg_timer;
struct smg_timer {
  void (*fired)(smg_timer* timer);
  uint64_t due;
  smg_timer* host_next;
  smg_timer** host_link;  // not NULL while set
};

// A piece of work for a loop.
typedef struct smg_task smg_task;
struct smg_task {
  void (*run)(smg_task* task);
  smg_task* host_next;
};

typedef struct smg_buffer {
  char* data;
  uint64_t size;
} smg_buffer;

typedef struct smg_loop_service {
  uint32_t struct_size;
  uint32_t reserved;
  uint32_t (*count)(const smg_host* host);  // [any] loops in all; the last one is the control loop
  uint32_t (*current)(const smg_host* host);  // [any] index of the calling loop, or SMG_LOOP_NONE
  // [loop] REQUIRES: fd is non-blocking, `ready` set.
  smg_status (*watch)(const smg_host* host, smg_watch* watch);
  // [loop] No `ready` call follows. The struct must live to the end of the turn (see defer). Close
  // the fd after.
  void (*unwatch)(const smg_host* host, smg_watch* watch);
  void (*set_timer)(const smg_host* host, smg_timer* timer, uint64_t due);  // [loop] sets or moves
  void (*clear_timer)(const smg_host* host, smg_timer* timer);  // [loop] no effect if not set
  // [any] Runs the task on that loop, in order of posting. Wakes it at most once per batch.
  void (*post)(const smg_host* host, uint32_t loop, smg_task* task);
  // [loop] Runs the task at the end of this turn, when no call-back is on the stack: the place to
  // free.
  void (*defer)(const smg_host* host, smg_task* task);
  // [loop] The loop's receive buffer, shared by all who run on it: use it from watch, timer and
  // task call-backs only (not from start), and expect nothing in it at the next one. At least 64
  // KiB. Sink calls leave it alone.
  smg_buffer (*scratch)(const smg_host* host);
} smg_loop_service;

// ---- resolve: host names to addresses, without blocking. Literals are answered as well, from
// within the call.
#define SMG_SERVICE_RESOLVE "smg.resolve/0"
// [loop] of the asking loop. `count` 0: failed, `detail` says why. Order: as the system prefers
// them.
typedef void (*smg_resolved_fn)(void* context, const smg_address* addresses, uint32_t count,
                                smg_view detail);
typedef struct smg_resolve_service {
  uint32_t struct_size;
  uint32_t reserved;
  // [loop] Returns a handle for cancel, or 0 if the answer was given from within the call.
  uint64_t (*resolve)(const smg_host* host, smg_view name, uint16_t port, smg_resolved_fn fn,
                      void* context);
  void (*cancel)(const smg_host* host, uint64_t handle);  // [loop] the asking one; idempotent
} smg_resolve_service;

// ---- fleet: what transports and monitors tell about workers, and calls to them. Once an endpoint
// is replaced or its worker removed, only notes of its streams count: progress, load, prompts.
#define SMG_SERVICE_FLEET "smg.fleet/0"

// A control call to a worker through its own transport. Pointers must stay valid until `done`.
typedef struct smg_call {
  uint32_t struct_size;
  uint32_t header_count;
  smg_view method;
  smg_view path;
  const smg_header* headers;  // the worker's credential is added by the host
  smg_view body;
  uint64_t timeout_ns;
  uint64_t max_response;  // bytes; 0: 16 MiB
} smg_call;

// The answer. `status` 0: none came, `end` (SMG_END_*) and `detail` say why.
typedef struct smg_call_result {
  uint32_t struct_size;
  uint32_t status;
  uint32_t end;
  uint32_t header_count;
  const smg_header* headers;
  smg_view body;
  smg_view detail;
} smg_call_result;
typedef void (*smg_call_fn)(void* context, const smg_call_result* result);  // [control]

typedef struct smg_fleet_service {
  uint32_t struct_size;
  uint32_t reserved;
  // [any] Something came from the worker, whatever it was.
  void (*contact)(const smg_host* host, uint64_t worker_ref);
  // [any] Output came: `tokens` of it, 0 if not known. Implies contact.
  void (*progress)(const smg_host* host, uint64_t worker_ref, uint64_t tokens);
  // [any] A channel failed at connection level. `channel` names it in logs.
  void (*connection_failed)(const smg_host* host, uint64_t worker_ref, smg_view channel,
                            smg_view detail);
  // [any] Streams that count for liveness: +1 at dispatch, -1 at the end.
  void (*tracked_load)(const smg_host* host, uint64_t worker_ref, int32_t delta);
  // [any] Prompt tokens handed over with no first response yet: + at dispatch, - when dropped.
  void (*prefill_pending)(const smg_host* host, uint64_t worker_ref, int64_t delta);
  // [any] First response to a prompt of that many tokens: releases them and feeds the measured
  // rate.
  void (*first_response)(const smg_host* host, uint64_t worker_ref, uint64_t prompt_tokens);
  // [any] A report that was not asked for.
  void (*report)(const smg_host* host, uint64_t worker_ref, const smg_load_report* report);
  // [control] Returns a handle for cancel_call; 0: refused, because this is another thread or the
  // call makes no sense, which counts as a fault. Else `done` is called exactly once unless
  // cancelled.
  uint64_t (*call)(const smg_host* host, uint64_t worker_ref, const smg_call* call,
                   smg_call_fn done, void* context);
  void (*cancel_call)(const smg_host* host, uint64_t handle);  // [control] idempotent
} smg_fleet_service;

#endif
