// A policy that shows which version of its code runs: version N takes the N-th eligible worker.
//
// The version is kept where a loader may mix up two copies of a library, and the library is pinned
// in memory by the means that PIN names, so that the old version stays mapped after a reload.
#include <atomic>
#include <cstdint>
#include <thread>

#include "smg/plugin.h"
#include "smg/policy.h"

#define PIN_NOTHING 0
#define PIN_INLINE_STATIC 1  // a GNU-unique symbol: one definition for the whole process
#define PIN_THREAD_LOCAL 2   // a destructor that waits for a loop thread to end
#define PIN_THREAD 3         // a thread that outlives the instance

namespace {

// One constant for a whole library, so that versions of it can be told apart by their text too.
#define TEXT(literal) \
  { literal, sizeof(literal) - 1 }
#define DIGIT(number) #number
#define VERSION_TEXT(number) DIGIT(number)

}  // namespace

struct Shown {
  // Initialised when the library is loaded, not by the compiler.
  static std::atomic<std::uint32_t>& version() {
    static std::atomic<std::uint32_t> value{[] {
      volatile std::uint32_t number = VERSION;
      return number;
    }()};
    return value;
  }
};

namespace {

struct Heavy {
  std::uint32_t touched = 0;
  ~Heavy() { Shown::version().fetch_add(touched - touched); }
};

void touch() {
#if PIN == PIN_THREAD_LOCAL
  thread_local Heavy heavy;
  ++heavy.touched;
#endif
}

smg_status create(const smg_host*, void** self, smg_error*) {
  *self = &Shown::version();
#if PIN == PIN_THREAD
  // Joined at the end of the process, if at all: such a library must not say that it is unloadable.
  static std::thread* const sleeper = new std::thread([] {
    std::atomic<bool> never{false};
    never.wait(false);
  });
  (void)sleeper;
#endif
  return SMG_OK;
}

void destroy(void*) {}

smg_status choose(void* self, const smg_policy_request*, const smg_pool* pool,
                  std::uint32_t* index) {
  touch();
  std::uint32_t left = static_cast<std::atomic<std::uint32_t>*>(self)->load();
  for (std::uint32_t i = 0; i < pool->count; ++i) {
    if (smg_pool_eligible(pool, i) == 0) continue;
    *index = i;
    if (--left == 0) return SMG_OK;
  }
  return SMG_NO_CHOICE;
}

const smg_policy_api kApi = {
    sizeof(smg_policy_api), 0, create, destroy, choose, nullptr, nullptr, nullptr};
const smg_plugin kPlugins[] = {{sizeof(smg_plugin), SMG_KIND_POLICY, TEXT("versioned"),
                                TEXT(VERSION_TEXT(VERSION)), TEXT("tests"),
                                TEXT("takes the worker of its version's number"), nullptr, 0,
                                PIN == PIN_THREAD ? 0u : SMG_PLUGIN_UNLOADABLE, &kApi, nullptr}};
const smg_library kLibrary = {
    SMG_PLUGIN_MAGIC, SMG_ABI_MAJOR, SMG_ABI_MINOR,     sizeof(smg_library), 1,
    TEXT("tests"),    kPlugins,      sizeof(smg_plugin)};

}  // namespace

extern "C" SMG_EXPORT const smg_library* smg_plugin_entry(void) {
  return &kLibrary;
}
