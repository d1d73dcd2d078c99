// The command line of smg-load, parsed and checked. Durations are seconds unless the name says
// otherwise. A wrong command line is a std::invalid_argument whose text names option, value and
// range.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace smg::bench {

enum class Mode { kJson, kStream, kIdle };

/// Processes whose CPU time is sampled at the edges of the window and reported under `name`.
struct WatchGroup {
  std::string name;
  std::vector<pid_t> pids;
};

struct Options {
  Mode mode = Mode::kJson;
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  std::string path = "/v1/chat/completions";
  std::string model = "sim";
  unsigned connections = 64;
  double rate = 0;         // json: requests/s of an open loop; 0 is a closed loop
  double ramp_s = 1;       // stream, idle: the streams start evenly over this time
  double warmup_s = 1;     // between the ramp (json: the start) and the window
  double duration_s = 5;   // the window
  double drain_s = 60;     // stream: grace after the window; idle: limit for the first events
  unsigned tokens = 0;     // 0 in stream mode: as many as keep every stream busy over the window
  double interval_ms = 0;  // between the tokens of one answer
  unsigned body_bytes = 1024;
  std::vector<WatchGroup> watch;
};

Options parse_options(int argc, char** argv);
std::string usage();

}  // namespace smg::bench
