#include "host/check/limits.hpp"

#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SMG_SANITIZED 1
#else
#define SMG_SANITIZED 0
#endif

#if SMG_SANITIZED
// Their shadow memory fills the address space: what they count themselves is limited instead.
extern "C" const char* __asan_default_options() {
  return "hard_rss_limit_mb=2048:allocator_may_return_null=1:detect_leaks=0";
}
extern "C" const char* __tsan_default_options() {
  return "hard_rss_limit_mb=2048:allocator_may_return_null=1";
}
#endif

namespace smg::check {
namespace {

constexpr std::uint64_t kMemory = std::uint64_t{2} << 30;

void limit(int what, rlim_t soft, rlim_t hard) {
  const rlimit value{soft, hard};
  setrlimit(static_cast<__rlimit_resource_t>(what), &value);
}

}  // namespace

void limit_memory() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  limit(RLIMIT_CORE, 0, 0);
  if constexpr (SMG_SANITIZED) return;
  // Each further arena would reserve 64 MiB of it.
  mallopt(M_ARENA_MAX, 2);
  std::uint64_t pages = 0;
  if (std::ifstream("/proc/self/statm") >> pages) {
    const rlim_t most = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + kMemory;
    limit(RLIMIT_AS, most, most);
  }
}

void limit_this_process() {
  limit_memory();
  constexpr unsigned kSeconds = SMG_SANITIZED ? 10 * kSmokeSeconds : kSmokeSeconds;
  limit(RLIMIT_CPU, kSeconds, kSeconds + 1);  // the second one cannot be ignored
  signal(SIGALRM, SIG_DFL);
  alarm(kSeconds);
}

}  // namespace smg::check
