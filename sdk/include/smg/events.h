// smg/events.h - what travels on the bus.
//
// Every event starts with smg_event: type, sequence number, time, worker. What follows depends on
// the type. An event and all that it points to is valid during delivery; a subscriber copies what
// it keeps.
#ifndef SMG_EVENTS_H
#define SMG_EVENTS_H

#include "smg/abi.h"
#include "smg/load.h"

#define SMG_EVENT_WORKER_ADDED 1u
#define SMG_EVENT_WORKER_UPDATED 2u
#define SMG_EVENT_WORKER_REMOVED 3u
#define SMG_EVENT_WORKER_STATUS 4u    // smg_event_change: status numbers
#define SMG_EVENT_LOAD_REPORT 5u      // smg_event_load
#define SMG_EVENT_NO_REPORT 6u        // smg_event_change: `after` is the cause
#define SMG_EVENT_VERDICT_CHANGED 7u  // smg_event_change: overloaded 0/1
#define SMG_EVENT_LIVENESS_CHANGED \
  8u                            // smg_event_change: SMG_STATE_UNREACHABLE, SMG_STATE_WEDGED or 0
#define SMG_EVENT_KV_BLOCKS 9u  // smg_event_kv
#define SMG_EVENT_PLUGIN_STATE 10u    // smg_event_change: subject is the plugin, text its state
#define SMG_EVENT_CONFIG_APPLIED 11u  // smg_event_change: `after` is the generation
#define SMG_EVENT_TYPE_COUNT 12u
#define SMG_EVENT_MASK(type) (1ull << (type))
#define SMG_EVENT_MASK_ALL 0xffeull

typedef struct smg_event {
  uint32_t struct_size;  // of the whole event, payload included
  uint32_t type;         // SMG_EVENT_*
  uint64_t sequence;     // set by the bus: rises by one per published event
  uint64_t time;         // monotonic; set by the bus if 0
  uint64_t worker_ref;   // 0: not about a worker
  smg_view worker_url;   // empty: not about a worker
} smg_event;

typedef struct smg_event_change {
  smg_event event;
  uint32_t before;
  uint32_t after;
  smg_view subject;  // what changed, where it is no worker
  smg_view text;     // cause, state: one short sentence
} smg_event_change;

typedef struct smg_event_load {
  smg_event event;
  smg_load_report report;
  smg_view source;  // name of the monitor
} smg_event_load;

#define SMG_KV_STORED 1u
#define SMG_KV_REMOVED 2u
#define SMG_KV_CLEARED 3u

// Blocks that entered or left a worker's prefix cache.
typedef struct smg_event_kv {
  smg_event event;
  uint32_t action;  // SMG_KV_*
  int32_t dp_rank;
  const uint64_t* blocks;  // hashes, in chain order
  uint64_t block_count;
  uint64_t parent;         // hash before the first block; 0: none
  const uint32_t* tokens;  // of stored blocks, block_size each; may be NULL
  uint64_t token_count;
  uint32_t block_size;  // tokens
  uint32_t reserved;
} smg_event_kv;

#endif
