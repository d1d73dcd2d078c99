/* least_busy: the eligible worker with the fewest requests of this gateway in flight, weighed by
 * the worker's cost. */
#include <stdlib.h>

#include "smg/plugin.h"
#include "smg/policy.h"

#define TEXT(literal) \
  { literal, sizeof(literal) - 1 }

typedef struct least_busy {
  int64_t use_cost; /* option */
} least_busy;

static smg_status create(const smg_host* host, void** self, smg_error* error) {
  const smg_options_service* options = host->service(host, SMG_SERVICE_OPTIONS);
  const smg_view name = TEXT("use_cost");
  uint32_t use_cost = 1;
  least_busy* policy = malloc(sizeof *policy);
  (void)error;
  if (policy == NULL) return SMG_E_LIMIT;
  if (options != NULL) options->get_bool(host, name, &use_cost);
  policy->use_cost = use_cost;
  *self = policy;
  return SMG_OK;
}

static void destroy(void* self) {
  free(self);
}

static smg_status choose(void* self, const smg_policy_request* request, const smg_pool* pool,
                         uint32_t* index) {
  const least_busy* policy = self;
  uint64_t random = request->random;
  double best = 0;
  uint32_t ties = 0;
  for (uint32_t i = 0; i < pool->count; ++i) {
    double load;
    if (!smg_pool_eligible(pool, i)) continue;
    load = smg_worker_in_flight(pool->live[i]);
    if (policy->use_cost) load = (load + 1) * pool->workers[i]->cost;
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
    sizeof(smg_policy_api), 0, create, destroy, choose, NULL, NULL, NULL};

static const smg_option options[] = {{sizeof(smg_option),
                                      SMG_OPTION_BOOL,
                                      TEXT("use_cost"),
                                      TEXT("true"),
                                      TEXT("weigh a worker's load with its cost"),
                                      1,
                                      0,
                                      NULL,
                                      0,
                                      0,
                                      {NULL, 0}}};

static const smg_plugin plugins[] = {
    {sizeof(smg_plugin), SMG_KIND_POLICY, TEXT("least_busy"), TEXT("1.0"), TEXT("example"),
     TEXT("the eligible worker with the fewest requests in flight"), options, 1,
     SMG_PLUGIN_UNLOADABLE, &api, NULL}};

static const smg_library library = {
    SMG_PLUGIN_MAGIC,  SMG_ABI_MAJOR, SMG_ABI_MINOR,     sizeof(smg_library), 1,
    TEXT(__VERSION__), plugins,       sizeof(smg_plugin)};

const smg_library* smg_plugin_entry(void) {
  return &library;
}
