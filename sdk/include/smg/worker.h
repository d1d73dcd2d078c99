// smg/worker.h - what a plugin sees of the fleet: workers, their live state, and pools of them.
//
// A worker is one inference engine (or one data-parallel rank of it). Its description is immutable:
// a change makes a new smg_worker. What moves while requests run stands in its smg_worker_live,
// whose address stays the same for the life of the URL. The host alone writes; plugins read with
// the accessors below, which are single relaxed atomic loads.
//
// Rationale for one state word: whether a worker may be chosen depends on five facts of which any
// may change at any time. Folded into one word, a policy needs one load and one compare per
// candidate.
#ifndef SMG_WORKER_H
#define SMG_WORKER_H

#include "smg/abi.h"

// Worker types.
#define SMG_WORKER_REGULAR 0u
#define SMG_WORKER_PREFILL 1u
#define SMG_WORKER_DECODE 2u
#define SMG_WORKER_ENCODE 3u

// The state word. Status stands in the low three bits.
#define SMG_STATUS_PENDING 0u  // registered, not verified yet
#define SMG_STATUS_READY 1u
#define SMG_STATUS_NOT_READY 2u  // was ready, fails its probes
#define SMG_STATUS_FAILED 3u     // given up
#define SMG_STATUS_DRAINING 4u   // being removed; running requests end in peace
#define SMG_STATE_STATUS_MASK 0x7u
#define SMG_STATE_BREAKER_OPEN 0x10u
#define SMG_STATE_BREAKER_HALF_OPEN 0x20u  // routable
#define SMG_STATE_OVERLOADED 0x100u
#define SMG_STATE_UNREACHABLE 0x200u
#define SMG_STATE_WEDGED 0x400u
// The bits that decide on eligibility: exactly SMG_STATUS_READY among them means "may be chosen".
#define SMG_STATE_ELIGIBLE_MASK                                                                    \
  (SMG_STATE_STATUS_MASK | SMG_STATE_BREAKER_OPEN | SMG_STATE_OVERLOADED | SMG_STATE_UNREACHABLE | \
   SMG_STATE_WEDGED)

// Live numbers. The first cache line changes with reports and verdicts (seldom), the second with
// every request: a scan over many workers therefore does not fight with dispatch.
typedef struct smg_worker_live {
  uint32_t state;                   // SMG_STATE_* and the status
  uint32_t report_valid;            // 1 while the report numbers below mean something
  int64_t waiting_requests;         // sum over ranks
  int64_t running_requests;         // sum over ranks
  int64_t waiting_uncached_tokens;  // sum over ranks, 0 where the engine does not say
  double token_usage;               // mean over ranks, 0..1
  double throughput;                // tokens/s, sum over ranks
  uint64_t report_time;             // when the engine's figures were taken
  uint64_t report_sequence;         // rises with every report
  uint32_t in_flight;               // requests of this gateway on the worker
  uint32_t tracked_load;            // of these, the streams that count for liveness
  uint64_t dispatched;              // requests ever sent to it
  uint64_t reserved[6];
  uint32_t routing_keys;  // distinct routing keys of the requests in flight
  uint32_t reserved_keys;
} smg_worker_live;

typedef struct smg_label {
  smg_view key;
  smg_view value;
} smg_label;

// What a worker has of its own for TLS: whom its certificate must be signed by, and what is shown
// to it. Paths of PEM files, for the transport to read; it takes up files that were renewed by
// itself, at the latest when the worker is opened again. What is empty is as the transport's own
// options say.
typedef struct smg_worker_tls {
  uint32_t struct_size;
  uint32_t ca_file_count;
  const smg_view* ca_files;  // authorities, any number in each
  smg_view client_cert;      // chain
  smg_view client_key;       // of client_cert; both are there or none
} smg_worker_tls;

// One worker, immutable. Valid as long as a pool, an endpoint or a call that holds it is.
typedef struct smg_worker {
  uint32_t struct_size;
  uint32_t type;         // SMG_WORKER_*
  uint64_t ref;          // handle for the fleet service; a replaced worker has another one
  uint32_t slot;         // small integer, unique among present workers: index your own arrays by it
  int32_t dp_rank;       // -1: not a rank of a data-parallel group
  uint32_t dp_size;      // 1 unless data-parallel
  uint32_t priority;     // higher is preferred; 50 by default
  double cost;           // relative, 1.0 by default
  smg_view id;           // UUID, as the admin API shows it
  smg_view url;          // identity, with `@rank` for a rank
  smg_view base_url;     // where to connect: without `@rank`
  smg_view scheme;       // lower case
  smg_view host;         // IPv6 without brackets
  smg_view base_path;    // path of the URL without a trailing slash, often empty
  uint32_t port;         // explicit or the scheme's default; 0: has none (ipc)
  uint32_t model_count;  // 0: serves any model
  const smg_view* models;
  smg_view runtime;  // `vllm`, `sglang`, ... or empty while unknown
  smg_view api_key;  // a secret: send it, never log it
  const smg_label* labels;
  uint32_t label_count;
  uint32_t reserved;
  const smg_worker_live* live;
  const smg_worker_tls* tls;  // nullptr: nothing of its own. Since ABI 0.3.
} smg_worker;

// The candidates of a selection: the workers of one model, one type and one transport, in order of
// registration. Immutable; a membership change makes a new pool with a higher generation.
typedef struct smg_pool {
  uint32_t struct_size;
  uint32_t count;
  const smg_worker* const* workers;
  const smg_worker_live* const* live;  // live[i] == workers[i]->live, one pointer chase less
  uint64_t generation;  // never 0; another one for every pool and after every change of membership
  const uint64_t* epoch;  // rises whenever any worker's eligibility changes: see smg_pool_epoch
  smg_view model;         // canonical id
} smg_pool;

static inline uint32_t smg_worker_state(const smg_worker_live* live) {
  return __atomic_load_n(&live->state, __ATOMIC_RELAXED);
}

static inline int smg_state_eligible(uint32_t state) {
  return (state & SMG_STATE_ELIGIBLE_MASK) == SMG_STATUS_READY;
}

// 1 if worker `i` of the pool may be chosen now. REQUIRES: i < pool->count.
static inline int smg_pool_eligible(const smg_pool* pool, uint32_t i) {
  return smg_state_eligible(smg_worker_state(pool->live[i]));
}

static inline uint32_t smg_worker_in_flight(const smg_worker_live* live) {
  return __atomic_load_n(&live->in_flight, __ATOMIC_RELAXED);
}

static inline uint32_t smg_worker_routing_keys(const smg_worker_live* live) {
  return __atomic_load_n(&live->routing_keys, __ATOMIC_RELAXED);
}

// As long as this number and pool->generation stay the same, so does the set of eligible workers: a
// policy may keep what it computed from it. Read it before the state words. It is odd while a word
// is being changed, so check a kept choice with smg_pool_eligible before answering it.
static inline uint64_t smg_pool_epoch(const smg_pool* pool) {
  return __atomic_load_n(pool->epoch, __ATOMIC_ACQUIRE);
}

#endif
