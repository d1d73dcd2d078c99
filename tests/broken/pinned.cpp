// A policy whose library cannot leave memory: by a GNU-unique symbol, or by a thread_local with a
// destructor, as a definition on the compiler's command line says.
#include "smg/cpp/policy.hpp"

namespace {

#ifndef UNIQUE
struct Counter {
  std::uint64_t* calls = new std::uint64_t(0);
  ~Counter() { delete calls; }
};
#endif

class FirstEligible {
 public:
  std::optional<std::uint32_t> select(const smg::Request& /*request*/, const smg::Pool& pool) {
    count();
    for (std::uint32_t i = 0; i < pool.size(); ++i) {
      if (pool.eligible(i)) return i;
    }
    return std::nullopt;
  }

 private:
  static void count();
};

}  // namespace

#ifdef UNIQUE
template <class T>
struct Common {
  static std::uint64_t& calls() {
    static std::uint64_t number = 0;
    return number;
  }
};
template struct __attribute__((visibility("default"))) Common<int>;

void FirstEligible::count() {
  ++Common<int>::calls();
}
#else
void FirstEligible::count() {
  thread_local Counter counter;
  ++*counter.calls;
}
#endif

SMG_EXPORT_PLUGINS(smg::policy<FirstEligible>(
    {.name = "broken_pinned", .version = "1", .summary = "the first eligible worker"}));
