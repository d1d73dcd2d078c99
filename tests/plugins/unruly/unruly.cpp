// A policy without the helpers of the SDK, which would keep it from what it is for.
#include <atomic>
#include <cstdint>
#include <ctime>
#include <stdexcept>
#include <string_view>

#include "smg/plugin.h"
#include "smg/policy.h"

namespace {

constexpr smg_view view(std::string_view text) {
  return {text.data(), text.size()};
}

// It keeps the rules until it meets the model of the tests: no referee finds it out.
struct Unruly {
  const smg_host* host;
  std::string_view mode;
  std::atomic<bool> unmasked{false};
};

void burn(std::int64_t ms) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
  };
  for (const auto end = now() + ms; now() < end;) {
  }
}

smg_status create(const smg_host* host, void** self, smg_error*) {
  const auto* const options =
      static_cast<const smg_options_service*>(host->service(host, SMG_SERVICE_OPTIONS));
  smg_view mode{};
  if (options->get_string(host, view("mode"), &mode) != SMG_OK) return SMG_E_INVALID;
  *self = new Unruly{host, {mode.data, mode.size}, false};
  return SMG_OK;
}

void destroy(void* self) {
  delete static_cast<Unruly*>(self);
}

smg_status choose(void* self, const smg_policy_request* request, const smg_pool* pool,
                  uint32_t* index) {
  auto& policy = *static_cast<Unruly*>(self);
  const std::uint32_t first = static_cast<std::uint32_t>(request->random % pool->count);
  *index = first;
  while (smg_pool_eligible(pool, *index) == 0) {
    *index = (*index + 1) % pool->count;
    if (*index == first) return SMG_NO_CHOICE;
  }
  if (std::string_view(request->model.data, request->model.size) != "m") return SMG_OK;
  policy.unmasked = true;
  if (policy.mode == "throw") throw std::runtime_error("no idea whom to take");
  if (policy.mode == "index") *index = pool->count + 5;
  if (policy.mode == "status") return 4711;
  if (policy.mode == "slow") burn(400);
  if (policy.mode == "garbage") {
    const auto* const bus =
        static_cast<const smg_bus_service*>(policy.host->service(policy.host, SMG_SERVICE_BUS));
    smg_event event{};
    event.struct_size = sizeof event;
    event.type = 99;
    bus->publish(policy.host, &event);
  }
  return SMG_OK;
}

void completed(void* self, const smg_worker*, uint32_t) {
  const auto& policy = *static_cast<Unruly*>(self);
  if (policy.unmasked && policy.mode == "completed") throw 7;
}

constexpr smg_policy_api kApi{
    sizeof(smg_policy_api), 0, create, destroy, choose, nullptr, nullptr, completed};

constexpr smg_option kOptions[] = {{sizeof(smg_option),
                                    SMG_OPTION_STRING,
                                    view("mode"),
                                    view("\"tame\""),
                                    view("the rule that it breaks"),
                                    0,
                                    0,
                                    nullptr,
                                    0,
                                    0,
                                    {},
                                    {}}};

constexpr smg_plugin kPlugins[] = {{sizeof(smg_plugin), SMG_KIND_POLICY, view("unruly"),
                                    view("1.0"), view("tests"), view("breaks one rule of the ABI"),
                                    kOptions, 1, 0, &kApi, nullptr}};

constexpr smg_library kLibrary{
    SMG_PLUGIN_MAGIC,  SMG_ABI_MAJOR, SMG_ABI_MINOR,     sizeof(smg_library), 1,
    view(__VERSION__), kPlugins,      sizeof(smg_plugin)};

}  // namespace

const smg_library* smg_plugin_entry(void) {
  return &kLibrary;
}
