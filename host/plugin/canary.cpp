#include "host/plugin/canary.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace smg {
namespace {

constexpr int kCameToItsEnd = 77;  // no library ends the process with it by chance

[[noreturn]] void run(const std::function<void()>& attempt) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, STDERR_FILENO);
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGALRM}) {
    signal(number, SIG_DFL);
  }
  alarm(kCanarySeconds);
  attempt();
  _exit(kCameToItsEnd);
}

}  // namespace

std::string try_in_child(const std::function<void()>& attempt) {
  const pid_t child = fork();
  if (child < 0) return std::string("cannot be tried: ") + std::strerror(errno);
  if (child == 0) run(attempt);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return std::string("cannot be tried: ") + std::strerror(errno);
  }
  if (WIFSIGNALED(status)) {
    if (WTERMSIG(status) == SIGALRM) {
      return "does not come to an end when it is loaded (waited " + std::to_string(kCanarySeconds) +
             " s)";
    }
    return std::string("crashes when it is loaded: ") + strsignal(WTERMSIG(status));
  }
  if (WEXITSTATUS(status) != kCameToItsEnd) {
    return "ends the process when it is loaded (exit code " + std::to_string(WEXITSTATUS(status)) +
           ")";
  }
  return {};
}

}  // namespace smg
