#include "host/check/smoke.hpp"

#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <optional>
#include <string_view>
#include <vector>

#include "host/check/exercise.hpp"
#include "host/check/library_file.hpp"
#include "host/check/limits.hpp"
#include "host/check/options_file.hpp"
#include "host/metrics/utf8.hpp"

namespace smg::check {
namespace {

constexpr int kSelections = 300;

boost::json::object about(const Plugin& plugin) {
  return {{"kind", kind_name(plugin.kind())},
          {"name", plugin.name()},
          {"version", valid_utf8(text(plugin.descriptor.version))}};
}

Trouble look_at(const SmokeOrder& order, boost::json::array& plugins) {
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
  }
  return {};
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
  boost::json::object verdict{{"ok", true}};
  boost::json::array plugins;
  const Trouble trouble = look_at(order, plugins);
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
