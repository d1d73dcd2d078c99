#include "host/check/child.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include "host/check/limits.hpp"
#include "host/loop/loop.hpp"

namespace smg::check {
namespace {

constexpr const char* kInside = "catch it inside; nothing may be thrown across the ABI";

// Kind, text and advice, each with a NUL behind it: half a finding is told from a whole one.
[[noreturn]] void run(int result, const std::function<Finding()>& rule) {
  limit_memory();
  dup2(STDERR_FILENO, STDOUT_FILENO);  // the report alone is on standard output
  const Finding finding = rule();
  std::string bytes(1, static_cast<char>('0' + static_cast<int>(finding.kind)));
  for (const std::string& text : {finding.text, finding.advice}) {
    bytes += '\0';
    bytes += std::string_view(text.c_str());
  }
  bytes += '\0';
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t written = write(result, rest.data(), rest.size());
    if (written <= 0 && errno != EINTR) break;
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
  _exit(0);
}

bool parse(std::string_view bytes, Finding& finding) {
  std::array<std::string_view, 3> parts;
  for (auto& part : parts) {
    const auto end = bytes.find('\0');
    if (end == std::string_view::npos) return false;
    part = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
  }
  if (parts[0].size() != 1) return false;
  finding.kind = static_cast<Finding::Kind>(parts[0][0] - '0');
  finding.text = parts[1];
  finding.advice = parts[2];
  return true;
}

// All that the child writes until it closes. False: the time was up.
bool collect(int result, unsigned seconds, std::string& bytes) {
  const std::uint64_t end = Loop::clock() + std::uint64_t{seconds} * 1'000'000'000;
  std::array<char, 4096> room;
  for (;;) {
    const std::uint64_t now = Loop::clock();
    if (now >= end) return false;
    pollfd ready{result, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>((end - now) / 1'000'000) + 1) <= 0) continue;
    const ssize_t size = read(result, room.data(), room.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return true;
    bytes.append(room.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace

Finding guarded(const std::function<Finding()>& rule) {
  try {
    return rule();
  } catch (const std::exception& exception) {
    return broken(std::string("a function of the table threw an exception: ") + exception.what(),
                  kInside);
  } catch (...) {
    return broken("a function of the table threw an exception", kInside);
  }
}

Finding in_child(unsigned seconds, const std::function<Finding()>& rule) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return broken("no pipe could be made", "end other processes");
  const pid_t child = fork();
  if (child < 0) return broken("no process could be started", "end other processes");
  if (child == 0) {
    close(ends[0]);
    run(ends[1], rule);
  }
  close(ends[1]);
  std::string bytes;
  const bool in_time = collect(ends[0], seconds, bytes);
  close(ends[0]);
  if (!in_time) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  Finding finding;
  if (parse(bytes, finding)) return finding;
  if (!in_time) {
    return broken("was still at work after " + std::to_string(seconds) + " s",
                  "find what never returns: attach a debugger to smg-plugin-check meanwhile");
  }
  if (WIFSIGNALED(status)) {
    return broken(std::string("crashed: ") + strsignal(WTERMSIG(status)),
                  "run smg-plugin-check in a debugger that follows child processes");
  }
  return broken("ended the process with exit code " + std::to_string(WEXITSTATUS(status)),
                "a plugin never ends the process it is loaded into");
}

}  // namespace smg::check
