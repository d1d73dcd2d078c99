#include "host/check/smoke.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "host/check/exercise.hpp"
#include "host/check/library_file.hpp"
#include "host/check/limits.hpp"
#include "host/check/options_file.hpp"
#include "host/check/residue.hpp"
#include "host/metrics/utf8.hpp"

namespace smg::check {
namespace {

constexpr int kSelections = 300;

boost::json::object about(const Plugin& plugin) {
  return {{"kind", kind_name(plugin.kind())},
          {"name", plugin.name()},
          {"version", valid_utf8(text(plugin.descriptor.version))}};
}

Trouble look_at(const SmokeOrder& order, boost::json::array& plugins, bool& unloadable) {
  Node document;
  std::string problem;
  if (!order.options_file.empty()) {
    document = read_options_file(order.options_file, problem);
    if (!problem.empty()) return {"options", order.options_file + ": " + problem};
  }
  Trouble trouble;
  const auto library = LibraryFile::open(order.file, trouble.rule, trouble.problem);
  if (library == nullptr) return trouble;
  Rig rig(1);
  for (const auto& plugin : library->plugins()) {
    std::vector<std::string> unknown;
    const PluginOptions options = options_for(plugin->descriptor, document, problem, unknown);
    if (!problem.empty()) return {"options", problem};
    if (auto found = exercise(rig, plugin, options, kSelections)) return found;
    plugins.push_back(about(*plugin));
    unloadable = unloadable && (plugin->descriptor.flags & SMG_PLUGIN_UNLOADABLE) != 0;
  }
  return {};
}

// All that the process has started, also what has put itself in a group of its own. True if there
// was any.
bool end_descendants() {
  bool any = false;
  for (;;) {
    std::ifstream list("/proc/self/task/" + std::to_string(gettid()) + "/children");
    for (pid_t child = 0; list >> child;) kill(child, SIGKILL);
    if (waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) return any;
    any = true;
  }
}

// Whether that is still so when threads that are about to end have had time for it.
bool more_threads_than(std::size_t count) {
  for (int looks = 0; looks < 50; ++looks) {
    if (Residue::now().threads <= count) return false;
    const timespec pause{0, 10'000'000};
    nanosleep(&pause, nullptr);
  }
  return true;
}

void write_line(int fd, std::string line) {
  line += '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = write(fd, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void smoke(const SmokeOrder& order) {
  limit_this_process();
  // Orphans of its children come to it, not to the gateway.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  boost::json::object verdict{{"ok", true}};
  boost::json::array plugins;
  const auto before = Residue::now();
  bool unloadable = true;
  Trouble trouble = look_at(order, plugins, unloadable);
  if (end_descendants() && !trouble) {
    trouble = {"processes", "starts processes of its own, which no plugin may"};
  }
  if (!trouble && unloadable && more_threads_than(before.threads)) {
    trouble = {"threads",
               "leaves a thread behind when its instances are destroyed: join it in destroy, or "
               "leave SMG_PLUGIN_UNLOADABLE out of its flags"};
  }
  if (trouble) {
    verdict = {{"ok", false}, {"rule", trouble.rule}, {"problem", valid_utf8(trouble.problem)}};
  } else {
    verdict["plugins"] = std::move(plugins);
  }
  write_line(order.verdict_fd, boost::json::serialize(verdict));
  // Past whatever a library has left to be done at the end of the process.
  _exit(trouble ? 1 : 0);
}

}  // namespace smg::check
