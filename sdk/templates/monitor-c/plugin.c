/* my_plugin: asks a worker for GET /load, which answers the number of its waiting requests as text.
 * Put your engine's route and its format into poll() and answered(). smg/load.h lists what a report
 * may hold. */
#include <stdlib.h>
#include <string.h>

#include "smg/monitor.h"
#include "smg/plugin.h"
#include "smg/transport.h"

#define TEXT(literal) \
  { literal, sizeof(literal) - 1 }

static const smg_view kPath = TEXT("/load");

typedef struct monitor {
  const smg_host* host;
  const smg_fleet_service* fleet;
} monitor;

/* One worker. All of it on the control thread, which must not be blocked: call() returns at once.
 */
typedef struct source {
  const monitor* owner;
  uint64_t worker;
  uint64_t ticket;
  smg_poll_done done;
  uint64_t call; /* 0: none runs */
  smg_call request;
} source;

static smg_status create(const smg_host* host, void** self, smg_error* error) {
  const smg_fleet_service* fleet = host->service(host, SMG_SERVICE_FLEET);
  monitor* made;
  (void)error;
  if (fleet == NULL) return SMG_E_UNSUPPORTED;
  made = malloc(sizeof *made);
  if (made == NULL) return SMG_E_LIMIT;
  made->host = host;
  made->fleet = fleet;
  *self = made;
  return SMG_OK;
}

static void destroy(void* self) {
  free(self);
}

/* 0 to 100. The best source is asked first, the next one if that has nothing to say: the shipped
 * http_loads says 100 for every HTTP worker. */
static uint32_t match(void* self, const smg_worker* worker) {
  (void)self;
  return worker->scheme.size == 4 && memcmp(worker->scheme.data, "http", 4) == 0 ? 60 : 0;
}

static smg_status attach(void* self, const smg_worker* worker, void** out, smg_error* error) {
  source* made = calloc(1, sizeof *made);
  (void)error;
  if (made == NULL) return SMG_E_LIMIT;
  made->owner = self;
  made->worker = worker->ref;
  *out = made;
  return SMG_OK;
}

static void detach(void* raw) {
  source* mine = raw;
  if (mine->call != 0) mine->owner->fleet->cancel_call(mine->owner->host, mine->call);
  free(mine);
}

static void fail(const source* mine, uint32_t cause, smg_view detail) {
  mine->done(mine->ticket, NULL, cause, detail);
}

static void answered(void* context, const smg_call_result* result) {
  static const smg_view kOther = TEXT("GET /load answered with an error");
  static const smg_view kMalformed = TEXT("GET /load answered no number of requests");
  source* mine = context;
  smg_rank_load rank;
  smg_load_report report;
  int32_t waiting = 0;
  mine->call = 0;
  if (result->status == 0) {
    fail(mine, result->end == SMG_END_TIMEOUT ? SMG_NO_REPORT_TIMEOUT : SMG_NO_REPORT_CONNECTION,
         result->detail);
    return;
  }
  if (result->status != 200) {
    fail(mine, result->status == 404 ? SMG_NO_REPORT_UNSUPPORTED : SMG_NO_REPORT_ERROR, kOther);
    return;
  }
  if (result->body.size == 0 || result->body.size > 8) {
    fail(mine, SMG_NO_REPORT_MALFORMED, kMalformed);
    return;
  }
  for (uint64_t i = 0; i < result->body.size; ++i) {
    const char digit = result->body.data[i];
    if (digit == '\n' && i > 0) break;
    if (digit < '0' || digit > '9') {
      fail(mine, SMG_NO_REPORT_MALFORMED, kMalformed);
      return;
    }
    waiting = waiting * 10 + (digit - '0');
  }
  memset(&rank, 0, sizeof rank);
  rank.struct_size = sizeof rank;
  rank.waiting_requests = waiting;
  memset(&report, 0, sizeof report);
  report.struct_size = sizeof report;
  report.rank_count = 1;
  report.ranks = &rank;
  report.rank_stride = sizeof rank;
  mine->done(mine->ticket, &report, 0, result->detail);
}

static void poll(void* raw, uint64_t ticket, uint64_t timeout_ns, smg_poll_done done) {
  static const smg_view kGet = TEXT("GET");
  source* mine = raw;
  mine->ticket = ticket;
  mine->done = done;
  memset(&mine->request, 0, sizeof mine->request);
  mine->request.struct_size = sizeof mine->request;
  mine->request.method = kGet;
  mine->request.path = kPath;
  mine->request.timeout_ns = timeout_ns;
  mine->call =
      mine->owner->fleet->call(mine->owner->host, mine->worker, &mine->request, answered, mine);
}

static const smg_monitor_api api = {.struct_size = sizeof(smg_monitor_api),
                                    .create = create,
                                    .destroy = destroy,
                                    .match = match,
                                    .attach = attach,
                                    .detach = detach,
                                    .poll = poll};

static const smg_plugin plugins[] = {{.struct_size = sizeof(smg_plugin),
                                      .kind = SMG_KIND_MONITOR,
                                      .name = TEXT("my_plugin"),
                                      .version = TEXT("1.0"),
                                      .vendor = TEXT("me"),
                                      .summary = TEXT("the number that GET /load answers"),
                                      .flags = SMG_PLUGIN_UNLOADABLE,
                                      .api = &api}};

static const smg_library library = {.magic = SMG_PLUGIN_MAGIC,
                                    .abi_major = SMG_ABI_MAJOR,
                                    .abi_minor = SMG_ABI_MINOR,
                                    .struct_size = sizeof(smg_library),
                                    .plugin_count = 1,
                                    .build = TEXT("C " __VERSION__),
                                    .plugins = plugins,
                                    .plugin_stride = sizeof(smg_plugin)};

const smg_library* smg_plugin_entry(void) {
  return &library;
}
