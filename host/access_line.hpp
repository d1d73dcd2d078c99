// What the access log says of a request, and how: as text with `name=value` pairs, or as a JSON
// object. Fields that are empty are left out.
//
// No bytes of a client can end a line or look like another field: in text, whatever is not a
// visible ASCII character is written as \xNN; JSON has escapes of its own. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace smg {

// How a request ended.
enum class AccessEnd : std::uint8_t {
  complete,     // answered in full, by a worker or the gateway
  client_gone,  // before the end of its answer
  cut,          // the answer broke off on this side or the worker's
  refused,      // not let in: limits, authentication, a malformed request
};

// Views live for the call.
struct AccessEntry {
  std::string_view request_id = {};
  std::string_view client = {};  // its address, without the port
  std::string_view method = {};
  std::string_view path = {};  // as it came; what stands behind a '?' is not written
  std::uint32_t status = 0;    // 0: no answer was begun
  std::uint64_t bytes_sent = 0;
  std::uint64_t duration = 0;        // ns, from the head of the request to the end
  std::uint64_t first_byte = 0;      // ns, to the first byte of the answer; 0: there was none
  std::string_view worker = {};      // URL
  std::string_view model = {};       // empty: not known
  std::string_view tenant = {};      // its name, never its key
  std::string_view error_code = {};  // as in X-SMG-Error-Code
  AccessEnd end = AccessEnd::complete;
};

class AccessLine {
 public:
  // As written, escapes included; what is longer is cut, and ends in "...". So a line is never
  // longer than what a pipe takes in one piece (PIPE_BUF).
  static constexpr std::size_t kLongestPath = 1024;
  static constexpr std::size_t kLongestValue = 256;

  explicit AccessLine(bool json) : json_(json) {}

  // Appends the line. `now`: milliseconds since 1970, the end of the request.
  void append(std::string& out, const AccessEntry& entry, std::uint64_t now);

 private:
  void look_at_clock(std::uint64_t now);

  const bool json_;
  std::uint64_t second_ = UINT64_MAX;  // that the two below belong to
  std::string date_;                   // and time, up to the second
  std::string zone_;
};

}  // namespace smg
