/* A policy that takes a random eligible worker, and breaks the one rule that a definition on the
 * compiler's command line names. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "smg/handover.h"
#include "smg/plugin.h"
#include "smg/policy.h"

#ifndef MAGIC
#define MAGIC SMG_PLUGIN_MAGIC
#endif

#define VIEW(text) \
  { text, sizeof(text) - 1 }

typedef struct self {
  const smg_host* host;
  const smg_pool* last;
  uint32_t next;
  smg_timer timer;
} self;

static uint32_t lives;

#ifdef UNDEFINED
extern int no_library_has_this(void);
__attribute__((constructor)) static void use(void) {
  if (lives > 1000) lives = (uint32_t)no_library_has_this();
}
#endif

#ifdef EXPORTS
__attribute__((visibility("default"))) int another_symbol = 1;
#endif

#ifdef THREADS
static void* wait_for_good(void* nothing) {
  for (;;) pause();
  return nothing;
}
#endif

static smg_status create(const smg_host* host, void** out, smg_error* error) {
  self* policy = calloc(1, sizeof *policy);
  (void)error;
  if (policy == NULL) return SMG_E_LIMIT;
  policy->host = host;
  ++lives;
#if defined(CREATE)
  free(policy);
  return SMG_E_INVALID;
#elif defined(OPTION_ENDS)
  {
    static const smg_view name = VIEW("size");
    const smg_options_service* options = host->service(host, SMG_SERVICE_OPTIONS);
    int64_t size = 0;
    options->get_int(host, name, &size);
    if (size > 50) {
      free(policy);
      return SMG_E_INVALID;
    }
  }
#elif defined(DESCRIPTORS)
  if (open("/dev/null", O_RDONLY) < 0) return SMG_E_LIMIT;
#elif defined(THREADS)
  {
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    if (lives <= 300) pthread_create(&thread, &small, wait_for_good, NULL);
    pthread_attr_destroy(&small);
  }
#elif defined(LIVES)
  if (lives > 500) {
    free(policy);
    return SMG_E_LIMIT;
  }
#elif defined(RELOADS)
  {
    /* What outlives the library: the environment of the process. */
    const char* before = getenv("SMG_BROKEN_RELOADS");
    char number[16] = {0};
    int count = before == NULL ? 1 : atoi(before) + 1;
    number[0] = (char)('0' + count / 100);
    number[1] = (char)('0' + count / 10 % 10);
    number[2] = (char)('0' + count % 10);
    setenv("SMG_BROKEN_RELOADS", number, 1);
    if (lives == 1 && count > 200) abort();
  }
#endif
  *out = policy;
  return SMG_OK;
}

static void destroy(void* raw) {
#ifdef LEAK
  (void)raw;
#else
  free(raw);
#endif
}

static smg_status choose(void* raw, const smg_policy_request* request, const smg_pool* pool,
                         uint32_t* index) {
  self* policy = raw;
  uint32_t eligible = 0;
  uint64_t pick;
#if defined(INELIGIBLE)
  if (pool->count > 0) {
    *index = (uint32_t)(request->random % pool->count);
    return SMG_OK;
  }
#elif defined(SLOW)
  const struct timespec nap = {0, 2000000};
  nanosleep(&nap, NULL);
#elif defined(RACE)
  policy->last = pool;
  sched_yield();
  if (policy->last != pool) {
    *index = 0xffff;
    return SMG_OK;
  }
#elif defined(KEEPS_POOL)
  if (policy->last != NULL) policy->next = policy->last->count;
#endif
  for (uint32_t i = 0; i < pool->count; ++i) eligible += smg_pool_eligible(pool, i) ? 1u : 0u;
  if (eligible == 0) return SMG_NO_CHOICE;
#ifdef SKEWED
  pick = request->random % 3 != 0 ? 0 : (request->random >> 8) % eligible;
#else
  pick = request->random % eligible;
#endif
  for (uint32_t i = 0; i < pool->count; ++i) {
    if (smg_pool_eligible(pool, i) && pick-- == 0) {
      *index = i;
      return SMG_OK;
    }
  }
  (void)policy;
  return SMG_NO_CHOICE;
}

#if defined(KEEPS_POOL)
static void pool_changed(void* raw, const smg_pool* before, const smg_pool* after) {
  (void)after;
  if (before != NULL) ((self*)raw)->last = before;
}
#define POOL_CHANGED pool_changed
#elif defined(WRONG_THREAD)
static void fired(smg_timer* timer) {
  (void)timer;
}
static void* set_timer(void* raw) {
  self* policy = raw;
  const smg_loop_service* loop = policy->host->service(policy->host, SMG_SERVICE_LOOP);
  policy->timer.fired = fired;
  loop->set_timer(policy->host, &policy->timer, 1);
  return NULL;
}
static void pool_changed(void* raw, const smg_pool* before, const smg_pool* after) {
  pthread_t thread;
  (void)before;
  (void)after;
  if (pthread_create(&thread, NULL, set_timer, raw) == 0) pthread_join(thread, NULL);
}
#define POOL_CHANGED pool_changed
#else
#define POOL_CHANGED NULL
#endif

#ifdef HANDOVER
static smg_status export_state(void* raw, const smg_state_writer* writer, smg_error* error) {
  (void)raw;
  (void)error;
  return writer->write(writer, "state", 5);
}
static smg_status import_state(void* raw, smg_view format, smg_view state, smg_error* error) {
  (void)raw;
  (void)format;
  (void)state;
  (void)error;
  return SMG_OK;
}
static const smg_state_handover handover = {sizeof(smg_state_handover), 0, VIEW("broken/1"),
                                            export_state, import_state};
static const void* extension(const char* id) {
  return strcmp(id, SMG_EXTENSION_STATE_HANDOVER) == 0 ? &handover : NULL;
}
#define EXTENSION extension
#else
#define EXTENSION NULL
#endif

static const smg_policy_api api = {sizeof(smg_policy_api), 0,    create, destroy, choose,
                                   POOL_CHANGED,           NULL, NULL};

static const smg_option options[] = {{sizeof(smg_option),
                                      SMG_OPTION_INT,
                                      VIEW("size"),
                                      VIEW("10"),
                                      VIEW("how much"),
                                      1,
                                      100,
                                      NULL,
                                      0,
                                      0,
                                      {NULL, 0},
                                      {NULL, 0}}};

static const smg_plugin plugins[] = {{sizeof(smg_plugin), SMG_KIND_POLICY, VIEW("broken_policy"),
                                      VIEW("1"), VIEW("tests"), VIEW("a random eligible worker"),
                                      options, 1, SMG_PLUGIN_UNLOADABLE, &api, EXTENSION}};

static const smg_library library = {MAGIC, SMG_ABI_MAJOR, SMG_ABI_MINOR, sizeof(smg_library),
                                    1,     VIEW("tests"), plugins,       sizeof(smg_plugin)};

SMG_EXPORT const smg_library* smg_plugin_entry(void);
const smg_library* smg_plugin_entry(void) {
  return &library;
}
