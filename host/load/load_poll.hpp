// A group of workers that are asked together, and one running poll. Control loop.
#pragma once

#include <string>
#include <string_view>

#include "host/load/load_poller.hpp"

namespace smg {

struct LoadPoller::Group {
  LoadPoller* owner;
  std::string model;
  std::uint64_t interval;
  struct Timer : smg_timer {
    Group* group;
  } timer{};
};

struct LoadPoller::Poll {
  LoadPoller* owner;
  std::uint64_t ticket;
  Member* member;
  std::uint64_t started;
  std::size_t source = 0;  // of the member's, that is asked now
  bool asking = false;     // inside the source's poll()
  bool answered = false;   // ... which answered at once
  std::uint32_t cause = SMG_NO_REPORT_UNSUPPORTED;
  std::string detail = "no load source suits this worker";
  std::string_view source_name;   // that is asked now
  std::string_view cause_source;  // whose `cause` and `detail` are
  struct Timer : smg_timer {
    Poll* poll;
  } timer{};

  // What the source that is asked now gives as the cause.
  void say(std::uint32_t why, std::string_view sentence) {
    cause = why;
    detail = sentence;
    cause_source = source_name;
  }
};

}  // namespace smg
