// The policy canary_policy, whose select() lets an exception out.
#include <stdexcept>

#include "smg/cpp/plugin.hpp"
#include "smg/policy.h"

namespace {

smg_status create(const smg_host* /*host*/, void** self, smg_error* /*error*/) {
  static int instance;
  *self = &instance;
  return SMG_OK;
}

void destroy(void* /*self*/) {}

smg_status choose(void* /*self*/, const smg_policy_request* /*request*/, const smg_pool* /*pool*/,
                  uint32_t* /*index*/) {
  throw std::runtime_error("out of luck");
}

constexpr smg_policy_api kApi{.struct_size = sizeof(smg_policy_api),
                              .needs = 0,
                              .create = create,
                              .destroy = destroy,
                              .select = choose,
                              .pool_changed = nullptr,
                              .dispatched = nullptr,
                              .completed = nullptr};

}  // namespace

SMG_EXPORT_PLUGINS(smg::describe(SMG_KIND_POLICY,
                                 {.name = "canary_policy", .version = "1", .summary = "throws"},
                                 &kApi));
