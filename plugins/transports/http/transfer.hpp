// What one attempt to receive or to send came to.
#pragma once

#include <cstddef>
#include <cstdint>

namespace smg::http {

struct Transfer {
  enum class State : uint8_t { moved, blocked, ended, failed };

  State state = State::blocked;
  int error = 0;         // failed: an errno value
  std::size_t size = 0;  // moved: how many bytes, at least one

  static Transfer moved(std::size_t size) { return {State::moved, 0, size}; }
  static Transfer blocked() { return {}; }
  static Transfer ended() { return {State::ended, 0, 0}; }
  static Transfer failed(int error) { return {State::failed, error, 0}; }
};

}  // namespace smg::http
