// The epoll set of one run. Single thread; events carry the index of their connection.
#pragma once

#include <arpa/inet.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <stdexcept>
#include <string>
#include <system_error>

#include "clock.hpp"
#include "options.hpp"

namespace smg::bench {

class EventLoop {
 public:
  EventLoop() : fd_(epoll_create1(EPOLL_CLOEXEC)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  }
  ~EventLoop() { close(fd_); }
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  int fd() const { return fd_; }

  /// Waits until `deadline` at most and calls `on_event(index, events)` for what happened.
  template <typename OnEvent>
  void run_once(Nanos deadline, OnEvent&& on_event) {
    const Nanos wait = std::max<Nanos>(deadline - now(), 0);
    const timespec timeout{wait / 1'000'000'000, wait % 1'000'000'000};
    const int count = epoll_pwait2(fd_, events_.data(), kBatch, &timeout, nullptr);
    for (int i = 0; i < count; ++i) {
      const auto& event = events_[static_cast<std::size_t>(i)];
      on_event(event.data.u32, event.events);
    }
  }

 private:
  static constexpr int kBatch = 512;

  int fd_;
  std::array<epoll_event, kBatch> events_;
};

inline sockaddr_in server_address(const Options& options) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(options.port);
  if (inet_pton(AF_INET, options.host.c_str(), &address.sin_addr) != 1) {
    throw std::invalid_argument("--host " + options.host + ": needs an IPv4 address");
  }
  return address;
}

}  // namespace smg::bench
