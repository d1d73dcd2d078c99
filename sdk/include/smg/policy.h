// smg/policy.h - a routing policy: given a request and a pool, which worker.
//
// The host calls select once per attempt. A policy reads pool and state words, skips workers that
// are not eligible (smg_pool_eligible), and answers an index. The host checks the answer: an index
// out of range or of an ineligible worker counts as a fault of the policy, and the least loaded
// eligible worker is taken instead. So no policy can route around a veto.
#ifndef SMG_POLICY_H
#define SMG_POLICY_H

#include "smg/host.h"
#include "smg/worker.h"

// What a policy wants to be told about each request. The host extracts only what some policy needs.
// With SMG_NEEDS_LOADS it reads the figures that workers report (smg_worker_live): they are polled
// even where the gateway is told to poll only what is needed.
#define SMG_NEEDS_TEXT 1u
#define SMG_NEEDS_TOKENS 2u
#define SMG_NEEDS_HEADERS 4u
#define SMG_NEEDS_LOADS 8u
// No need but a statement in the same word: the policy itself keeps requests with the same routing
// key together, so the gateway's own stickiness (routing_key_override) stays out of its way. With
// that switched on, such a policy is given the key out of the body (`rid`) before that of a header.
#define SMG_KEEPS_ROUTING_KEYS 16u

// The leg of a disaggregated request.
#define SMG_LEG_SINGLE 0u
#define SMG_LEG_PREFILL 1u
#define SMG_LEG_DECODE 2u

// One request, as far as routing is concerned. Valid during the call.
typedef struct smg_policy_request {
  uint32_t struct_size;
  uint32_t endpoint;       // SMG_ENDPOINT_*, smg/transport.h
  uint32_t leg;            // SMG_LEG_*
  uint32_t attempt;        // 0 for the first, then counting retries
  uint64_t now;            // monotonic, taken once per loop turn
  uint64_t random;         // 64 random bits of this request: use them instead of a generator
  smg_view model;          // canonical id
  smg_view text;           // routing text; empty unless SMG_NEEDS_TEXT, or when tokens are given
  const uint32_t* tokens;  // prompt token ids, where known
  uint64_t token_count;
  smg_view routing_key;       // the client's validated key, at most 128 bytes; empty: none
  smg_view cache_namespace;   // cache partition of the request; empty: the common one
  const smg_header* headers;  // all of the client's; only with SMG_NEEDS_HEADERS
  uint32_t header_count;
  uint32_t reserved;
} smg_policy_request;

typedef struct smg_policy_api {
  uint32_t struct_size;
  uint32_t needs;  // SMG_NEEDS_*
  // [control] Makes an instance from the options that `host` gives. `host` stays valid until
  // destroy returns. On failure nothing is left behind.
  smg_status (*create)(const smg_host* host, void** self, smg_error* error);
  // [control] Called once, when no other call is running or will come.
  void (*destroy)(void* self);
  // [loop] Concurrent with itself on every loop; never blocks, never allocates without bound.
  // SMG_OK: *index is the choice. SMG_NO_CHOICE: none may take it. Anything else counts as a fault.
  smg_status (*select)(void* self, const smg_policy_request* request, const smg_pool* pool,
                       uint32_t* index);
  // [control] Membership of a pool changed, or the description of a member; either may be NULL
  // (created, gone). Called before select is given `after`, for every pool that this instance
  // chooses from: one for each model, and that of all workers, for requests that name no model
  // (`unknown`). Members are the same if their url is. May be NULL. Runs concurrently with select,
  // which requests on their way may still call with an older pool; the pools themselves may not be
  // kept.
  void (*pool_changed)(void* self, const smg_pool* before, const smg_pool* after);
  // [loop] A request was sent to `worker` on this policy's advice, and ended. May be NULL.
  void (*dispatched)(void* self, const smg_policy_request* request, const smg_worker* worker);
  void (*completed)(void* self, const smg_worker* worker, uint32_t success);
} smg_policy_api;

#endif
