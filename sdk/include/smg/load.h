// smg/load.h - what an engine reports about its load.
//
// The normalised form of every source: a JSON load route, scraped gauges, a unary call, records
// pushed on a stream, statistics that ride on output batches. A report is the latest figures of all
// ranks together. What an engine leaves out is 0 (so that signal never trips a ceiling) or marked
// absent in `present`.
#ifndef SMG_LOAD_H
#define SMG_LOAD_H

#include "smg/abi.h"

// Which optional members of smg_rank_load hold a value.
#define SMG_LOAD_KV_TRANSFER_LATENCY 0x1u
#define SMG_LOAD_KV_TRANSFER_SPEED 0x2u
#define SMG_LOAD_PREFILL_QUEUE 0x4u
#define SMG_LOAD_DECODE_QUEUE 0x8u
#define SMG_LOAD_DISAGG_MODE 0x10u
#define SMG_LOAD_MEMORY 0x20u
#define SMG_LOAD_QUEUES 0x40u
#define SMG_LOAD_ENGINE_SILENCE 0x80u
#define SMG_LOAD_REPORTS_STEPS 0x100u
#define SMG_LOAD_PREFILL_PENDING 0x200u

// One data-parallel rank.
typedef struct smg_rank_load {
  uint32_t struct_size;
  uint32_t present;  // SMG_LOAD_*
  int32_t dp_rank;
  int32_t running_requests;
  int32_t waiting_requests;
  int32_t waiting_uncached_tokens;  // queued tokens not in the cache
  int32_t total_requests;
  int32_t used_tokens;
  int32_t max_total_tokens;  // 0: no absolute token figures
  int32_t max_running_requests;
  double token_usage;            // used share of the KV cache, 0..1; not clamped
  double generation_throughput;  // tokens/s
  double cache_hit_rate;         // 0..1
  double utilization;            // 0..1
  double kv_transfer_latency_ms;
  double kv_transfer_speed_gb_s;
  int32_t prefill_queue_requests;
  int32_t decode_queue_requests;
  smg_view disagg_mode;  // `prefill`, `decode` or `null`
  double memory_weight_gb, memory_kv_cache_gb, memory_graph_gb;
  int32_t memory_token_capacity;
  int32_t queue_waiting, queue_grammar, queue_paused, queue_retracted;
  uint32_t engine_silence_ms;       // no output for requests that stream, as the engine sees it
  uint32_t reports_steps;           // 1: the silence counts scheduler steps, not only tokens
  uint32_t prefill_pending_tokens;  // handed to the engine by any client, no output yet
} smg_rank_load;

// One report. Valid during the call that passes it. It is part of smg_event_load and therefore
// never grows: whatever is added goes into smg_rank_load.
typedef struct smg_load_report {
  uint32_t struct_size;
  uint32_t rank_count;
  const smg_rank_load* ranks;
  uint64_t rank_stride;  // sizeof(smg_rank_load) of the side that filled it
  uint64_t sample_time;  // when the figures were taken; 0: now
  smg_view timestamp;    // the engine's own words, may be empty
  uint32_t pushed;       // 1: came unasked; marks the worker as one that pushes
  uint32_t reserved;
} smg_load_report;

// Why a poll brought no report.
#define SMG_NO_REPORT_UNSUPPORTED 1u  // this engine has no such source
#define SMG_NO_REPORT_TIMEOUT 2u
#define SMG_NO_REPORT_CONNECTION \
  3u                                // connection-level failure: may arm liveness where that applies
#define SMG_NO_REPORT_ERROR 4u      // it answered with an error
#define SMG_NO_REPORT_EMPTY 5u      // it answered and has nothing to say yet
#define SMG_NO_REPORT_MALFORMED 6u  // it answered something else
#define SMG_NO_REPORT_GAUGE_MISSING 7u  // a gauge without which the report would mislead

#endif
