#include "options.hpp"

#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>
#include <string_view>

namespace smg::bench {
namespace {

template <typename Number>
Number number(std::string_view option, std::string_view text, Number low, Number high) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() ||
      !(value >= low && value <= high)) {
    throw std::invalid_argument("--" + std::string(option) + " " + std::string(text) +
                                ": needs a number from " + std::to_string(low) + " to " +
                                std::to_string(high));
  }
  return value;
}

Mode mode_from(std::string_view text) {
  if (text == "json") return Mode::kJson;
  if (text == "stream") return Mode::kStream;
  if (text == "idle") return Mode::kIdle;
  throw std::invalid_argument("mode '" + std::string(text) + "': needs json, stream or idle");
}

WatchGroup watch_group(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) {
    throw std::invalid_argument("--watch " + std::string(text) + ": needs NAME:PID,PID,...");
  }
  WatchGroup group{std::string(text.substr(0, colon)), {}};
  for (text.remove_prefix(colon + 1); !text.empty();) {
    const auto comma = std::min(text.find(','), text.size());
    group.pids.push_back(number<pid_t>("watch", text.substr(0, comma), 1, 1 << 22));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return group;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  if (argc < 2) throw std::invalid_argument("no mode given");
  Options options;
  options.mode = mode_from(argv[1]);

  using Text = std::string_view;
  const std::map<Text, std::function<void(Text, Text)>> setters = {
      {"host", [&](Text, Text v) { options.host = v; }},
      {"port", [&](Text k, Text v) { options.port = number<std::uint16_t>(k, v, 1, 65535); }},
      {"path", [&](Text, Text v) { options.path = v; }},
      {"model", [&](Text, Text v) { options.model = v; }},
      {"connections", [&](Text k, Text v) { options.connections = number(k, v, 1U, 60000U); }},
      {"rate", [&](Text k, Text v) { options.rate = number(k, v, 0.0, 1e6); }},
      {"ramp", [&](Text k, Text v) { options.ramp_s = number(k, v, 0.0, 3600.0); }},
      {"warmup", [&](Text k, Text v) { options.warmup_s = number(k, v, 0.0, 3600.0); }},
      {"duration", [&](Text k, Text v) { options.duration_s = number(k, v, 0.01, 3600.0); }},
      {"drain", [&](Text k, Text v) { options.drain_s = number(k, v, 0.0, 3600.0); }},
      {"tokens", [&](Text k, Text v) { options.tokens = number(k, v, 0U, 10'000'000U); }},
      {"interval-ms", [&](Text k, Text v) { options.interval_ms = number(k, v, 0.0, 3.6e6); }},
      {"body-bytes", [&](Text k, Text v) { options.body_bytes = number(k, v, 0U, 64U << 20); }},
      {"watch", [&](Text, Text v) { options.watch.push_back(watch_group(v)); }},
  };
  for (int i = 2; i < argc; i += 2) {
    Text key = argv[i];
    const auto setter = key.starts_with("--") ? setters.find(key.substr(2)) : setters.end();
    if (setter == setters.end()) {
      throw std::invalid_argument("unknown option '" + std::string(key) + "'");
    }
    if (i + 1 == argc) throw std::invalid_argument(std::string(key) + " needs a value");
    setter->second(setter->first, argv[i + 1]);
  }

  if (options.port == 0) throw std::invalid_argument("--port is missing");
  if (options.mode == Mode::kStream && options.tokens == 0) {
    if (options.interval_ms <= 0) {
      throw std::invalid_argument("stream without --tokens needs --interval-ms above 0");
    }
    const double busy_s = options.ramp_s + options.warmup_s + options.duration_s + 0.5;
    options.tokens = static_cast<unsigned>(std::ceil(busy_s * 1000 / options.interval_ms));
  }
  return options;
}

std::string usage() {
  return R"(smg-load MODE --port PORT [options]: one thread of load on an OpenAI-compatible server
modes
  json     non-streamed chat completions, closed loop, or open loop with --rate
  stream   N streams at once, each run to its [DONE] and checked
  idle     N streams that sent their first event; held until stdin closes
options (seconds unless named otherwise; defaults in brackets)
  --host ADDRESS [127.0.0.1]   --path PATH [/v1/chat/completions]   --model NAME [sim]
  --connections N [64]         --body-bytes N [1024]
  --rate R [0: closed loop]    --warmup S [1]  --duration S [5]
  --ramp S [1]                 --drain S [60]
  --tokens N [stream: enough for the window]   --interval-ms MS [0]
  --watch NAME:PID,PID         report the CPU time of these processes over the window
The figures go to stdout as one JSON object.
)";
}

}  // namespace smg::bench
