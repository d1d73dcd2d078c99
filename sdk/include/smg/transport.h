// smg/transport.h - how requests get to an engine and answers come back.
//
// A transport serves the workers whose URL scheme (and, where it says so, runtime) it names. The
// host hands it a request in HTTP terms and takes the answer in HTTP terms: status, headers, bytes.
// A transport for an engine that speaks tokens renders them itself; so every engine protocol fits
// behind one sink.
//
// Life of a request, all on one loop thread:
//   start() -> sink.head() -> sink.data()* -> sink.end()          the usual course
//   start() -> sink.end()                                          nothing came
//   start() -> ... -> cancel() [-> nothing more]                   the host lost interest
// Exactly one end() per started stream unless it was cancelled first. Sink calls may come from
// within start() itself. A sink call for a ticket that has ended or was cancelled is dropped and
// counted, so a late foreign thread does no harm; but only the loop that called start may make one:
// a plugin that works on threads of its own comes back with loop.post (smg/host.h). After a call
// that makes no sense (a status that is none, data before head, a second head, bytes without a
// pointer) the stream ends as SMG_END_BAD_RESPONSE: the host cancels it from within that call.
//
// Rationale for tickets and streams as numbers: pointers would dangle where two sides can end the
// same thing.
#ifndef SMG_TRANSPORT_H
#define SMG_TRANSPORT_H

#include "smg/host.h"
#include "smg/worker.h"

// Which API a request belongs to.
#define SMG_ENDPOINT_OTHER 0u
#define SMG_ENDPOINT_CHAT 1u         // /v1/chat/completions
#define SMG_ENDPOINT_COMPLETIONS 2u  // /v1/completions
#define SMG_ENDPOINT_GENERATE 3u     // /generate
#define SMG_ENDPOINT_MESSAGES 4u     // /v1/messages
#define SMG_ENDPOINT_RESPONSES 5u    // /v1/responses
#define SMG_ENDPOINT_EMBEDDINGS 6u   // /v1/embeddings
#define SMG_ENDPOINT_CLASSIFY 7u     // /v1/classify
#define SMG_ENDPOINT_RERANK 8u       // /v1/rerank
#define SMG_ENDPOINT_CONTROL 9u      // flush_cache and friends, load reports: on the control loop

#define SMG_REQUEST_STREAM 1u     // the client asked for a stream of events
#define SMG_REQUEST_NO_RESEND 2u  // never send it twice, not even over a stale connection

// One request. It and everything it points to stays valid and unchanged until sink.release(),
// sink.end() or cancel(), whichever comes first.
typedef struct smg_request {
  uint32_t struct_size;
  uint32_t endpoint;  // SMG_ENDPOINT_*
  uint32_t flags;     // SMG_REQUEST_*
  uint32_t header_count;
  smg_view method;  // upper case
  smg_view path;    // with query, begins with '/'; to be put behind the worker's base path
  const smg_header*
      headers;           // to be sent as they are; no Host, Content-Length or connection headers
  const smg_view* body;  // pieces, in order
  uint32_t body_count;
  uint32_t reserved;
  uint64_t body_size;  // sum of the pieces
  uint64_t deadline;   // for the whole exchange; 0: none
  smg_view model;      // canonical id; empty: unknown
  smg_view request_id;
  const uint32_t* tokens;  // prompt token ids, where the host knows them
  uint64_t token_count;
} smg_request;

// The head of an answer. Valid during the call.
typedef struct smg_response_head {
  uint32_t struct_size;
  uint32_t status;            // 200..599
  const smg_header* headers;  // as they came, hop-by-hop ones included: the host filters
  uint32_t header_count;
  uint32_t reserved;
  int64_t content_length;  // -1: not announced
} smg_response_head;

// How a stream ended.
#define SMG_END_COMPLETE 0u         // the whole answer was passed on
#define SMG_END_CONNECT_FAILED 1u   // no connection: refused, unreachable, name unknown, TLS failed
#define SMG_END_CONNECTION_LOST 2u  // it broke before the answer was complete
#define SMG_END_TIMEOUT 3u          // deadline or connect time passed
#define SMG_END_BAD_RESPONSE 4u     // the engine broke its protocol
#define SMG_END_ENGINE_ERROR \
  5u                        // the engine said that it failed, where the protocol has such a word
#define SMG_END_REFUSED 6u  // the transport itself cannot carry this request

#define SMG_PHASE_CONNECT 0u  // not one byte of the request was sent
#define SMG_PHASE_SENT 1u     // some or all of it was, nothing came back
#define SMG_PHASE_HEAD 2u     // head() was called
#define SMG_PHASE_DATA 3u     // data() was called

typedef struct smg_outcome {
  uint32_t struct_size;
  uint32_t kind;     // SMG_END_*
  uint32_t phase;    // SMG_PHASE_*
  uint32_t resends;  // stale connections met inside this exchange
  smg_view detail;   // one sentence for logs and the client; empty when complete
} smg_outcome;

#define SMG_CONTINUE 0
#define SMG_PAUSE 1  // stop delivering until resume(); what is delivered all the same is kept

// Where the answer goes. Constant, lives as long as the process. [loop], on the loop of start().
typedef struct smg_sink {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t (*head)(uint64_t ticket, const smg_response_head* head);
  // Bytes of the body. Many calls per turn are cheap: the host sends once, when the plugin's
  // call-back returns to the loop.
  int32_t (*data)(uint64_t ticket, const char* data, uint64_t size);
  void (*end)(uint64_t ticket, const smg_outcome* outcome);
  // The request was wholly sent and will not be sent again: the transport no longer looks at it, so
  // the host may free its body while the answer goes on. Optional, at most once, implied by end().
  void (*release)(uint64_t ticket);
} smg_sink;

// What probe() is to find out, a bit set.
#define SMG_PROBE_HEALTH 1u    // is it up
#define SMG_PROBE_IDENTITY 2u  // runtime, version, labels
#define SMG_PROBE_MODELS 4u    // which models it serves

#define SMG_PROBE_ANONYMOUS 1u  // ask for its health without the worker's credential

typedef struct smg_probe {
  uint32_t struct_size;
  uint32_t what;   // SMG_PROBE_HEALTH and so on
  uint32_t flags;  // SMG_PROBE_ANONYMOUS
  uint32_t reserved;
  uint64_t timeout_ns;   // for all of it
  smg_view health_path;  // begins with '/'; for transports that ask for health by path
} smg_probe;

typedef struct smg_probe_result {
  uint32_t struct_size;
  uint32_t healthy;  // 1: it answered and is well
  smg_view detail;   // why not, in one sentence
  smg_view runtime;  // empty: not found out
  const smg_view* models;
  uint32_t model_count;
  uint32_t label_count;
  const smg_label* labels;  // what else it says of itself
} smg_probe_result;

// [control] Called exactly once per probe(), perhaps from within it.
typedef void (*smg_probe_done)(void* context, const smg_probe_result* result);

typedef struct smg_transport_api {
  uint32_t struct_size;
  uint32_t scheme_count;
  const smg_view* schemes;   // lower case, for example "http", "https"
  const smg_view* runtimes;  // serve only these; none: any
  uint32_t runtime_count;
  uint32_t reserved;
  // [control] See smg/policy.h. `sink` is where all streams of this instance go.
  smg_status (*create)(const smg_host* host, const smg_sink* sink, void** self, smg_error* error);
  // [control] After the last endpoint is closed.
  void (*destroy)(void* self);

  // [control] The worker stays valid until close. Connects lazily: a worker that is down is no
  // error.
  smg_status (*open)(void* self, const smg_worker* worker, void** endpoint, smg_error* error);
  // [loop] Once on every loop after the last stream of that loop ended: drop what the loop holds of
  // it.
  void (*quiesce)(void* endpoint);
  // [control] After quiesce ran on every loop.
  void (*close)(void* endpoint);

  // [control] Never blocks; the answer comes by `done` within the timeout, failures included.
  // `probe` is valid during the call only.
  void (*probe)(void* endpoint, const smg_probe* probe, smg_probe_done done, void* context);

  // [loop] Begins an exchange. `*stream` is the plugin's number for it, never 0, set before the
  // first sink call so that the host may pause or cancel from inside one. The result always comes
  // by the sink.
  void (*start)(void* endpoint, const smg_request* request, uint64_t ticket, uint64_t* stream);
  // [loop] After pause, deliver as little as possible; the engine is slowed by its own flow
  // control.
  void (*pause)(void* self, uint64_t stream);
  void (*resume)(void* self, uint64_t stream);
  // [loop] Stop now and let the engine notice at once. No sink call follows. Unknown or ended
  // streams: no effect.
  void (*cancel)(void* self, uint64_t stream);
} smg_transport_api;

#endif
