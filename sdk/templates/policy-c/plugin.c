/* my_plugin: the eligible worker with the fewest requests of this gateway in flight, weighed by the
 * worker's cost. The headers smg/policy.h and smg/plugin.h say what else there is. */
#include <stdlib.h>

#include "smg/plugin.h"
#include "smg/policy.h"

#define TEXT(literal) \
  { literal, sizeof(literal) - 1 }

typedef struct policy {
  uint32_t use_cost; /* option */
} policy;

static smg_status create(const smg_host* host, void** self, smg_error* error) {
  const smg_options_service* options = host->service(host, SMG_SERVICE_OPTIONS);
  const smg_view name = TEXT("use_cost");
  policy* made = malloc(sizeof *made);
  (void)error;
  if (made == NULL) return SMG_E_LIMIT;
  made->use_cost = 1;
  if (options != NULL) options->get_bool(host, name, &made->use_cost);
  *self = made;
  return SMG_OK;
}

static void destroy(void* self) {
  free(self);
}

/* On every loop thread at once: it must not block, and changes nothing without an atomic. */
static smg_status choose(void* self, const smg_policy_request* request, const smg_pool* pool,
                         uint32_t* index) {
  const policy* mine = self;
  uint64_t random = request->random;
  double best = 0;
  uint32_t ties = 0;
  for (uint32_t i = 0; i < pool->count; ++i) {
    double load;
    if (!smg_pool_eligible(pool, i)) continue;
    load = smg_worker_in_flight(pool->live[i]) + 1.0;
    if (mine->use_cost) load *= pool->workers[i]->cost;
    if (ties == 0 || load < best) {
      best = load;
      ties = 1;
      *index = i;
    } else if (load <= best) {
      /* Equal ones are equally likely: the k-th replaces the choice with probability 1/k. */
      random = random * 6364136223846793005u + 1442695040888963407u;
      if ((random >> 33) % ++ties == 0) *index = i;
    }
  }
  return ties == 0 ? SMG_NO_CHOICE : SMG_OK;
}

static const smg_policy_api api = {
    .struct_size = sizeof(smg_policy_api), .create = create, .destroy = destroy, .select = choose};

/* minimum above maximum: no range. */
static const smg_option options[] = {{.struct_size = sizeof(smg_option),
                                      .type = SMG_OPTION_BOOL,
                                      .name = TEXT("use_cost"),
                                      .default_value = TEXT("true"),
                                      .help = TEXT("weigh a worker's load with its cost"),
                                      .minimum = 1,
                                      .maximum = 0}};

static const smg_plugin plugins[] = {{.struct_size = sizeof(smg_plugin),
                                      .kind = SMG_KIND_POLICY,
                                      .name = TEXT("my_plugin"),
                                      .version = TEXT("1.0"),
                                      .vendor = TEXT("me"),
                                      .summary = TEXT("the eligible worker with the least to do"),
                                      .options = options,
                                      .option_count = 1,
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
