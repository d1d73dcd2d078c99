/* A load source that asks GET /loads and reports one rank, and breaks the one rule that a
 * definition on the compiler's command line names. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "smg/monitor.h"
#include "smg/plugin.h"
#include "smg/transport.h"

#define VIEW(text) \
  { text, sizeof(text) - 1 }

typedef struct source {
  const smg_host* host;
  const smg_fleet_service* fleet;
  uint64_t worker;
  uint64_t ticket;
  uint64_t call;
  smg_poll_done done;
  smg_call request;
} source;

static smg_status create(const smg_host* host, void** self, smg_error* error) {
  (void)error;
  *self = (void*)(uintptr_t)host;
  return SMG_OK;
}

static void destroy(void* self) {
  (void)self;
}

static uint32_t match(void* self, const smg_worker* worker) {
  (void)self;
  (void)worker;
#ifdef MATCH
  return 1000;
#else
  return 10;
#endif
}

static smg_status attach(void* self, const smg_worker* worker, void** out, smg_error* error) {
  source* made = calloc(1, sizeof *made);
  const smg_host* host = self;
  (void)error;
  if (made == NULL) return SMG_E_LIMIT;
  made->host = host;
  made->fleet = host->service(host, SMG_SERVICE_FLEET);
  made->worker = worker->ref;
  *out = made;
  return SMG_OK;
}

static void detach(void* raw) {
  source* gone = raw;
#ifndef POLL_SLOW
  if (gone->call != 0) gone->fleet->cancel_call(gone->host, gone->call);
  free(gone);
#else
  (void)gone;
#endif
}

static void answered(void* raw, const smg_call_result* result) {
  source* asked = raw;
  static const smg_view wrong = VIEW("no load document");
  smg_rank_load rank = {0};
  smg_load_report report = {0};
  asked->call = 0;
#ifdef POLL
  if (result->status == 0) return;
#else
  if (result->status != 200) {
    asked->done(asked->ticket, NULL, SMG_NO_REPORT_ERROR, wrong);
    return;
  }
#endif
#ifdef POLL_GARBAGE
  if (result->body.size > 1000) abort();
#endif
  if (result->body.size < 2 || memcmp(result->body.data, "{}", 2) != 0) {
    asked->done(asked->ticket, NULL, SMG_NO_REPORT_MALFORMED, wrong);
    return;
  }
  rank.struct_size = sizeof rank;
  report.struct_size = sizeof report;
  report.rank_count = 1;
  report.ranks = &rank;
  report.rank_stride = sizeof rank;
  asked->done(asked->ticket, &report, 0, wrong);
}

static void poll_now(source* asked, uint64_t timeout_ns) {
  static const smg_view method = VIEW("GET");
  static const smg_view path = VIEW("/loads");
  memset(&asked->request, 0, sizeof asked->request);
  asked->request.struct_size = sizeof asked->request;
  asked->request.method = method;
  asked->request.path = path;
  asked->request.timeout_ns = timeout_ns;
  asked->call = asked->fleet->call(asked->host, asked->worker, &asked->request, answered, asked);
}

#ifdef WRONG_THREAD
static void* elsewhere(void* raw) {
  poll_now(raw, 1000000);
  return NULL;
}
#endif

static void poll(void* raw, uint64_t ticket, uint64_t timeout_ns, smg_poll_done done) {
  source* asked = raw;
  asked->ticket = ticket;
  asked->done = done;
#ifdef WRONG_THREAD
  pthread_t thread;
  if (pthread_create(&thread, NULL, elsewhere, asked) == 0) pthread_join(thread, NULL);
#endif
  poll_now(asked, timeout_ns);
}

static const smg_monitor_api api = {
    sizeof(smg_monitor_api), 0, create, destroy, match, attach, detach, poll};

static const smg_plugin plugins[] = {{sizeof(smg_plugin), SMG_KIND_MONITOR, VIEW("broken_monitor"),
                                      VIEW("1"), VIEW("tests"), VIEW("asks for /loads"), NULL, 0,
                                      SMG_PLUGIN_UNLOADABLE, &api, NULL}};

static const smg_library library = {
    SMG_PLUGIN_MAGIC, SMG_ABI_MAJOR, SMG_ABI_MINOR,     sizeof(smg_library), 1,
    VIEW("tests"),    plugins,       sizeof(smg_plugin)};

SMG_EXPORT const smg_library* smg_plugin_entry(void);
const smg_library* smg_plugin_entry(void) {
  return &library;
}
