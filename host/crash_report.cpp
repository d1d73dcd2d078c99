#include "host/crash_report.hpp"

#include <dlfcn.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>
#include <iterator>

namespace smg {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

void install_crash_report() {}

#else

namespace {

// Only what is safe in a signal handler; dladdr() is not on that list, but takes no lock that the
// crashed code of a plugin could hold.
void say(const char* text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
}

void* instruction(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<void*>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<void*>(machine.pc);
#endif
}

void report(int signal, siginfo_t*, void* context) {
  say("smg: fatal ");
  say(sigabbrev_np(signal));
  Dl_info place{};
  if (dladdr(instruction(context), &place) != 0 && place.dli_fname != nullptr) {
    say(" in ");
    say(place.dli_fname);
    if (place.dli_sname != nullptr) {
      say(", ");
      say(place.dli_sname);
    }
    if (std::strstr(place.dli_fname, "/smg-plugins-") != nullptr) {
      say(": a plugin, take it out of [plugins] paths or correct it");
    }
  }
  say("\n");
  raise(signal);  // now with its default action
}

}  // namespace

void install_crash_report() {
  struct sigaction action {};
  action.sa_sigaction = report;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_RESETHAND | SA_NODEFER);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) sigaction(signal, &action, nullptr);
}

#endif

}  // namespace smg
