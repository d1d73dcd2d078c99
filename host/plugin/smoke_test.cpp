#include "host/plugin/smoke_test.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <toml++/toml.h>

#include <array>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "host/metrics/utf8.hpp"
#include "host/plugin/plugin.hpp"

extern char** environ;

namespace smg {
namespace {

using Clock = std::chrono::steady_clock;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSlowness = 5;  // of instrumented code
#else
constexpr std::uint64_t kSlowness = 1;
#endif

constexpr std::chrono::milliseconds kGrace{500};  // the program ends itself at its limit
constexpr std::size_t kMaxWords = 4096;           // of what the library prints
constexpr int kVerdictFd = 3;

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) == 0) {
      read = ends[0];
      write = ends[1];
    }
  }
  ~Pipe() {
    shut(read);
    shut(write);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  static void shut(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
};

// The program with its output in one pipe and its verdict in the other; -1 and errno if it cannot
// be started.
pid_t spawn(const std::vector<std::string>& words, const Pipe& output, const Pipe& verdict) {
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output.write, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output.write, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&files, verdict.write, kVerdictFd);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  // A group of its own, so that what it starts is ended with it.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  pid_t child = -1;
  const int code =
      ::posix_spawn(&child, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  errno = code;
  return code == 0 ? child : -1;
}

// Reads both pipes until the program has closed them. False at the deadline.
bool collect(Pipe& output, Pipe& verdict, std::string& words, std::string& line,
             Clock::time_point deadline) {
  while (output.read >= 0 || verdict.read >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    std::array<pollfd, 2> ready{pollfd{output.read, POLLIN, 0}, pollfd{verdict.read, POLLIN, 0}};
    if (::poll(ready.data(), ready.size(), static_cast<int>(left)) <= 0) continue;
    const auto take = [](const pollfd& from, int& fd, std::string& into) {
      if (from.revents == 0) return;
      std::array<char, 4096> room;
      const ssize_t size = ::read(fd, room.data(), room.size());
      if (size <= 0) return Pipe::shut(fd);
      if (into.size() < kMaxWords) into.append(room.data(), static_cast<std::size_t>(size));
    };
    take(ready[0], output.read, words);
    take(ready[1], verdict.read, line);
  }
  return true;
}

std::string last_line(const std::string& words) {
  const auto end = words.find_last_not_of(" \r\n\t");
  if (end == std::string::npos) return {};
  const auto begin = words.find_last_of('\n', end);
  return valid_utf8(words.substr(begin == std::string::npos ? 0 : begin + 1,
                                 end - (begin == std::string::npos ? 0 : begin + 1) + 1));
}

struct Verdict {
  bool ok = false;
  std::string problem;  // empty: there is no verdict
};

Verdict read_verdict(const std::string& line) {
  boost::system::error_code error;
  const auto value = boost::json::parse(line, error);
  Verdict verdict;
  const auto* const fields = error ? nullptr : value.if_object();
  if (fields == nullptr) return verdict;
  const auto* const ok = fields->if_contains("ok");
  verdict.ok = ok != nullptr && ok->is_bool() && ok->get_bool();
  const auto* const problem = fields->if_contains("problem");
  if (problem != nullptr && problem->is_string()) verdict.problem = problem->get_string();
  return verdict;
}

// Ends the program and all that it has started, at the deadline if it does not end by itself. False
// if it had to be ended.
bool wait_for(pid_t child, int& status, Clock::time_point deadline) {
  bool by_itself = true;
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) break;
    if (by_itself && Clock::now() >= deadline) {
      by_itself = false;
      ::kill(-child, SIGKILL);
    }
    const timespec pause{0, 2'000'000};
    ::nanosleep(&pause, nullptr);
  }
  ::kill(-child, SIGKILL);
  return by_itself;
}

std::string without_end() {
  return "does not come to an end in its smoke test (waited " +
         std::to_string(kSmokeTestSeconds * kSlowness) + " s)";
}

std::string how_it_ended(int status, const std::string& words) {
  std::string reason;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    return without_end();  // the program's own alarm
  }
  if (WIFSIGNALED(status)) {
    reason = std::string("crashes in its smoke test: ") + strsignal(WTERMSIG(status));
  } else {
    reason = "ends the process in its smoke test (exit code " +
             std::to_string(WEXITSTATUS(status)) + ")";
  }
  const std::string said = last_line(words);
  return said.empty() ? reason : reason + "; it said: " + said;
}

}  // namespace

std::string toml_of(const OptionTables& options) {
  toml::table document;
  for (const auto& [key, values] : options) {
    const std::string kind(kind_name(key.first));
    if (!document.contains(kind)) document.insert(kind, toml::table{});
    toml::table table;
    for (const auto& [name, value] : values) {
      std::visit(
          [&](const auto& plain) {
            using T = std::decay_t<decltype(plain)>;
            if constexpr (std::is_same_v<T, std::vector<std::string>>) {
              toml::array list;
              for (const auto& item : plain) list.push_back(item);
              table.insert(name, std::move(list));
            } else if constexpr (!std::is_same_v<T, std::vector<double>> &&
                                 !std::is_same_v<T, StringMap>) {
              table.insert(name, plain);
            }
          },
          value);
    }
    document[kind].as_table()->insert(key.second, std::move(table));
  }
  std::ostringstream text;
  text << document << "\n";
  return text.str();
}

std::string smoke_test(const StagedLibrary& staged, const std::filesystem::path& checker,
                       const OptionTables& options) {
  const std::string prefix = staged.file.string() + ": ";
  const std::string tables = staged.copy.string() + ".toml";
  std::ofstream(tables) << toml_of(options);
  Pipe output, verdict;
  if (output.read < 0 || verdict.read < 0) {
    const int code = errno;
    ::unlink(tables.c_str());
    return prefix + "cannot be tried: " + std::strerror(code);
  }
  const pid_t child = spawn({checker.string(), "--smoke", staged.copy.string(), "--options", tables,
                             "--verdict-fd", std::to_string(kVerdictFd)},
                            output, verdict);
  if (child < 0) {
    const int code = errno;
    ::unlink(tables.c_str());
    return prefix + "cannot be tried: " + checker.string() +
           " cannot be started: " + std::strerror(code) +
           "; install it beside the gateway's program";
  }
  Pipe::shut(output.write);
  Pipe::shut(verdict.write);
  std::string words, line;
  const auto deadline = Clock::now() + std::chrono::seconds(kSmokeTestSeconds * kSlowness) + kGrace;
  int status = 0;
  const bool closed = collect(output, verdict, words, line, deadline);
  const bool ended = wait_for(child, status, deadline) && closed;
  ::unlink(tables.c_str());
  if (!ended) return prefix + without_end();
  const Verdict found = read_verdict(line);
  if (found.ok && WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (found.problem.empty()) return prefix + how_it_ended(status, words);
  return prefix + found.problem + noexec_hint(found.problem, staged.copy);
}

}  // namespace smg
