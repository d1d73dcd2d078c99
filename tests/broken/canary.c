/* The policy canary_policy, which takes the first eligible worker. Definitions on the compiler's
 * command line make a candidate of it that a gateway must refuse, or accept, without coming to harm
 * itself. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "smg/plugin.h"
#include "smg/policy.h"

#ifndef VERSION
#define VERSION "1"
#endif
#ifndef MAJOR
#define MAJOR SMG_ABI_MAJOR
#endif
#ifndef MINOR
#define MINOR SMG_ABI_MINOR
#endif
#ifndef TABLE
#define TABLE &library
#endif
#ifdef NO_ENTRY
#define ENTRY some_other_function
#else
#define ENTRY smg_plugin_entry
#endif

#define VIEW(text) \
  { text, sizeof(text) - 1 }

#if defined(CRASH_LOAD)
__attribute__((constructor)) static void crash(void) {
  abort();
}
#elif defined(HANG_LOAD)
__attribute__((constructor)) static void hang(void) {
  for (;;) pause();
}
#endif

static smg_status create(const smg_host* host, void** self, smg_error* error) {
  static int instance;
  (void)host;
  (void)error;
#if defined(CRASH_CREATE)
  *(volatile int*)self = *(volatile int*)0;
#elif defined(HANG_CREATE)
  for (;;) pause();
#elif defined(EXIT)
  exit(0);
#elif defined(ALLOC)
  /* Every page is used, and no answer of malloc's is believed. */
  for (;;) {
    char* piece = malloc(1u << 20);
    if (piece != NULL) memset(piece, 1, 1u << 20);
  }
#endif
  *self = &instance;
  return SMG_OK;
}

static void destroy(void* self) {
  (void)self;
}

static smg_status choose(void* self, const smg_policy_request* request, const smg_pool* pool,
                         uint32_t* index) {
  (void)self;
  (void)request;
  for (uint32_t i = 0; i < pool->count; ++i) {
    if (smg_pool_eligible(pool, i)) {
      *index = i;
      return SMG_OK;
    }
  }
  return SMG_NO_CHOICE;
}

static const smg_policy_api api = {sizeof(smg_policy_api), 0, create, destroy, choose, 0, 0, 0};

static const smg_plugin plugins[] = {
    {sizeof(smg_plugin), SMG_KIND_POLICY, VIEW("canary_policy"), VIEW(VERSION), VIEW("tests"),
     VIEW("takes the first eligible worker"), 0, 0, SMG_PLUGIN_UNLOADABLE, &api, 0}};

static const smg_library library = {
    SMG_PLUGIN_MAGIC,  MAJOR, MINOR, sizeof(smg_library), 1, VIEW("tests"), plugins,
    sizeof(smg_plugin)};

/* Not every candidate shows its table. */
const smg_library* const canary_library = &library;

SMG_EXPORT const smg_library* ENTRY(void);
const smg_library* ENTRY(void) {
  return TABLE;
}
