#include "host/line_output.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace smg {
namespace {

int open_file(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                0640);
}

std::uint64_t count_lines(std::string_view lines) {
  return static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
}

// The whole lines at the front that a pipe takes at once or not at all; one at least.
std::string_view next_piece(std::string_view lines) {
  if (lines.size() <= PIPE_BUF) return lines;
  std::size_t end = lines.rfind('\n', PIPE_BUF - 1);
  if (end == std::string_view::npos) end = lines.find('\n');
  return lines.substr(0, end + 1);
}

}  // namespace

std::unique_ptr<LineOutput> LineOutput::of(int fd) {
  struct stat status {};
  int own = -1;
  if (fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode))) {
    // Opened anew, it does not block here and goes on to block for whoever shares `fd`.
    const std::string name = "/proc/self/fd/" + std::to_string(fd);
    own = ::open(name.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  }
  if (own < 0) own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  return std::unique_ptr<LineOutput>(new LineOutput(own, {}));
}

std::unique_ptr<LineOutput> LineOutput::file(std::string path, std::string& error) {
  const int fd = open_file(path);
  if (fd < 0) {
    error = path + " cannot be written: " + std::strerror(errno);
    return nullptr;
  }
  return std::unique_ptr<LineOutput>(new LineOutput(fd, std::move(path)));
}

LineOutput::LineOutput(int fd, std::string path) : fd_(fd), path_(std::move(path)) {
  struct stat status {};
  if (fstat(fd_, &status) != 0) return;
  socket_ = S_ISSOCK(status.st_mode);
  regular_ = S_ISREG(status.st_mode);
}

LineOutput::~LineOutput() {
  if (fd_ >= 0) close(fd_);
}

void LineOutput::follow_name() {
  struct stat opened {};
  struct stat named {};
  if (fd_ >= 0 && fstat(fd_, &opened) == 0 && stat(path_.c_str(), &named) == 0 &&
      opened.st_ino == named.st_ino && opened.st_dev == named.st_dev) {
    return;
  }
  const int fresh = open_file(path_);
  if (fresh < 0) return;  // better the moved file than none
  if (fd_ >= 0) close(fd_);
  fd_ = fresh;
  cut_ = false;
}

bool LineOutput::is_ready(Clock::time_point until) const {
  pollfd waited{fd_, POLLOUT, 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    const int count = poll(&waited, 1, stuck_ || left < 0 ? 0 : static_cast<int>(left));
    if (count >= 0 || errno != EINTR) return count > 0;
  }
}

std::int64_t LineOutput::put(std::string_view piece) const {
  return socket_ ? send(fd_, piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                 : ::write(fd_, piece.data(), piece.size());
}

std::uint64_t LineOutput::write(std::string_view lines, std::chrono::milliseconds patience) {
  if (!path_.empty()) follow_name();
  const auto until = Clock::now() + patience;
  std::string_view piece;
  while (!lines.empty()) {
    if (piece.empty()) piece = regular_ ? lines : next_piece(lines);
    const bool ready = is_ready(until);
    if (ready && cut_) cut_ = put("\n") != 1;
    const std::int64_t count = ready ? put(piece) : -1;
    const bool again = count < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK);
    if (ready && again && !stuck_ && Clock::now() < until)
      continue;  // a terminal may change its mind
    if (count <= 0) {
      stuck_ = true;
      return count_lines(lines);
    }
    stuck_ = false;
    const auto size = static_cast<std::size_t>(count);
    cut_ = piece[size - 1] != '\n';
    lines.remove_prefix(size);
    piece.remove_prefix(size);
  }
  return 0;
}

}  // namespace smg
