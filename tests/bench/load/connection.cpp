#include "connection.hpp"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace smg::bench {
namespace {

std::array<char, std::size_t{256} * 1024> g_buffer;

}  // namespace

void Connection::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  pending_ = false;
  unsent_ = {};
}

Event Connection::submit(std::string_view request, const sockaddr_in& server, int epoll_fd,
                         std::uint32_t index) {
  reader_.reset();
  unsent_ = request;
  pending_ = true;
  if (fd_ >= 0) {
    const auto event = flush();
    return event == Event::kNone ? event : finish(event);
  }

  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "socket");
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const auto* address = reinterpret_cast<const sockaddr*>(&server);
  if (connect(fd_, address, sizeof server) != 0 && errno != EINPROGRESS) {
    return finish(Event::kRefused);
  }
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u32 = index;
  if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd_, &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
  return Event::kNone;  // sent at the first writable event
}

Event Connection::flush() {
  while (!unsent_.empty()) {
    const auto sent = send(fd_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EAGAIN || errno == ENOTCONN) return Event::kNone;
      return errno == ECONNREFUSED ? Event::kRefused : Event::kReset;
    }
    unsent_.remove_prefix(static_cast<std::size_t>(sent));
  }
  return Event::kNone;
}

Event Connection::receive(std::uint32_t events, std::string_view& data, bool& more) {
  const auto size = recv(fd_, g_buffer.data(), g_buffer.size(), 0);
  if (size > 0) {
    data = {g_buffer.data(), static_cast<std::size_t>(size)};
    // Edge-triggered: a short read has emptied the socket, unless its end is waiting behind.
    more = data.size() == g_buffer.size() || (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    return Event::kNone;
  }
  more = false;
  if (size < 0) {
    if (errno == EAGAIN || errno == ENOTCONN) return Event::kNone;
    if (errno == ECONNREFUSED) return Event::kRefused;
    return pending_ ? Event::kReset : Event::kIdleClose;
  }
  if (!pending_) return Event::kIdleClose;
  return reader_.close() == ResponseReader::Result::kComplete ? Event::kComplete : Event::kClosed;
}

Event Connection::finish(Event event) {
  pending_ = false;
  unsent_ = {};
  if (event != Event::kComplete || !reader_.keep_alive()) close();
  return event;
}

}  // namespace smg::bench
