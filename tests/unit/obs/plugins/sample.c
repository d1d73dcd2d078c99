// A policy that takes the first eligible worker. Definitions on the compiler's command line spoil
// one thing each, so that the loader's checks can be tested against libraries that exist.
#include <string.h>

#include "smg/plugin.h"
#include "smg/policy.h"

#ifndef MAGIC
#define MAGIC SMG_PLUGIN_MAGIC
#endif
#ifndef MAJOR
#define MAJOR SMG_ABI_MAJOR
#endif
#ifndef MINOR
#define MINOR SMG_ABI_MINOR
#endif
#ifndef LIBRARY_SIZE
#define LIBRARY_SIZE sizeof(smg_library)
#endif
#ifndef PLUGIN_SIZE
#define PLUGIN_SIZE sizeof(smg_plugin)
#endif
#ifndef OPTION_SIZE
#define OPTION_SIZE sizeof(smg_option)
#endif
#ifndef API_SIZE
#define API_SIZE sizeof(smg_policy_api)
#endif
#ifndef STRIDE
#define STRIDE sizeof(smg_plugin)
#endif
#ifndef COUNT
#define COUNT 1
#endif
#ifndef NAME
#define NAME "sample"
#endif
#ifndef KIND
#define KIND SMG_KIND_POLICY
#endif
#ifndef API
#define API &api
#endif
#ifndef SELECT
#define SELECT choose
#endif
#ifndef NEEDS
#define NEEDS 0
#endif
#ifndef OPTION_NAME
#define OPTION_NAME "mode"
#endif
#ifndef RATIO_DEFAULT
#define RATIO_DEFAULT "0.5"
#endif
#ifndef RATIO_MINIMUM
#define RATIO_MINIMUM 0
#endif
#ifndef MODE_DEFAULT
#define MODE_DEFAULT "\"fast\""
#endif
#ifndef OPTION_TYPE
#define OPTION_TYPE SMG_OPTION_STRING
#endif
#ifndef FLAGS
#define FLAGS SMG_PLUGIN_UNLOADABLE
#endif
#ifndef TABLE
#define TABLE &library
#endif

#define VIEW(text) \
  { text, sizeof(text) - 1 }

typedef struct state {
  const smg_host* host;
  uint64_t subscription;
  uint64_t events;
} state;

static state the_state;

static void heard(void* context, const smg_event* event) {
  (void)event;
  ++((state*)context)->events;
}

static smg_status create(const smg_host* host, void** self, smg_error* error) {
  static const smg_view kMode = VIEW("mode");
  const smg_options_service* options = host->service(host, SMG_SERVICE_OPTIONS);
  smg_view mode = {0, 0};
  if (options != NULL && options->get_string(host, kMode, &mode) == SMG_OK && mode.size == 4 &&
      memcmp(mode.data, "fail", 4) == 0) {
    static const char kText[] = "the mode 'fail' always does";
    memcpy(error->text, kText, sizeof(kText) - 1);
    error->size = sizeof(kText) - 1;
    return SMG_E_INVALID;
  }
  the_state.host = host;
  the_state.events = 0;
  const smg_bus_service* bus = host->service(host, SMG_SERVICE_BUS);
  if (bus != NULL)
    the_state.subscription = bus->subscribe(host, SMG_EVENT_MASK_ALL, heard, &the_state);
  *self = &the_state;
  return SMG_OK;
}

static void destroy(void* self) {
  ((state*)self)->host = NULL;
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

smg_status (*const unused)(void*, const smg_policy_request*, const smg_pool*, uint32_t*) = choose;

static const smg_policy_api api = {.struct_size = API_SIZE,
                                   .needs = NEEDS,
                                   .create = create,
                                   .destroy = destroy,
                                   .select = SELECT};

const smg_policy_api* const also_unused = &api;

static const smg_view choices[] = {VIEW("fast"), VIEW("slow"), VIEW("fail")};
static const smg_option options[] = {
    {.struct_size = OPTION_SIZE,
     .type = SMG_OPTION_FLOAT,
     .name = VIEW("ratio"),
     .default_value = VIEW(RATIO_DEFAULT),
     .help = VIEW("a share"),
     .minimum = RATIO_MINIMUM,
     .maximum = 1},
    {.struct_size = OPTION_SIZE,
     .type = OPTION_TYPE,
     .name = VIEW(OPTION_NAME),
     .default_value = VIEW(MODE_DEFAULT),
     .help = VIEW("how to go about it"),
     .minimum = 1,
     .choices = choices,
     .choice_count = 3},
};
static const smg_plugin plugins[] = {{.struct_size = PLUGIN_SIZE,
                                      .kind = KIND,
                                      .name = VIEW(NAME),
                                      .version = VIEW("1.0"),
                                      .vendor = VIEW("tests"),
                                      .summary = VIEW("takes the first eligible worker"),
                                      .options = options,
                                      .option_count = 2,
                                      .flags = FLAGS,
                                      .api = API},
                                     {.struct_size = PLUGIN_SIZE,
                                      .kind = KIND,
                                      .name = VIEW(NAME),
                                      .options = options,
                                      .option_count = 2,
                                      .api = API}};
static const smg_library library = {.magic = MAGIC,
                                    .abi_major = MAJOR,
                                    .abi_minor = MINOR,
                                    .struct_size = LIBRARY_SIZE,
                                    .plugin_count = COUNT,
                                    .plugins = plugins,
                                    .plugin_stride = STRIDE};

const smg_library* const third_unused = &library;

const smg_library* smg_plugin_entry(void) {
  return TABLE;
}
