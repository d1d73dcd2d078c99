#include "loop.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <system_error>

namespace smg::sim {

namespace {

double clock_ms(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

}  // namespace

double Loop::monotonic_ms() {
  return clock_ms(CLOCK_MONOTONIC);
}
double Loop::unix_ms() {
  return clock_ms(CLOCK_REALTIME);
}

Loop::Loop()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)),
      now_ms_(static_cast<std::int64_t>(monotonic_ms())),
      timers_(now_ms_) {
  if (epoll_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

Loop::~Loop() {
  close(epoll_);
}

void Loop::watch(int fd, Watcher& watcher, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &watcher;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
}

void Loop::unwatch(int fd) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

void Loop::run() {
  std::array<epoll_event, 512> events;
  while (!stopped_) {
    const int timeout = timers_.timeout(static_cast<std::int64_t>(monotonic_ms()));
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout);
    now_ms_ = static_cast<std::int64_t>(monotonic_ms());
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      static_cast<Watcher*>(event.data.ptr)->ready(event.events);
    }
    timers_.run(now_ms_);
    while (!retired_.empty()) {
      const auto dying = std::move(retired_);
      retired_.clear();
    }
  }
}

}  // namespace smg::sim
