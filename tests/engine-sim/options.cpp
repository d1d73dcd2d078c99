#include "options.hpp"

#include <charconv>
#include <sstream>
#include <string_view>
#include <vector>

namespace smg::sim {

namespace {

using Apply = void (*)(Options&, const std::string& name, const std::string& value);

struct Entry {
  std::string_view name;
  std::string_view argument;  // empty: a flag
  std::string_view help;
  Apply apply;
};

[[noreturn]] void refuse(const std::string& name, const std::string& value,
                         const std::string& allowed) {
  throw std::invalid_argument("--" + name + " '" + value + "': must be " + allowed);
}

template <class T>
T number(const std::string& name, const std::string& text, T minimum, T maximum) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !(value >= minimum) ||
      !(value <= maximum)) {
    std::ostringstream allowed;
    allowed << "a number from " << minimum << " to " << maximum;
    refuse(name, text, allowed.str());
  }
  return value;
}

constexpr std::uint32_t kMany = 1'000'000'000;

using O = Options;
using S = const std::string;

const std::vector<Entry>& entries() {
  static const std::vector<Entry> kEntries{
      {"port", "P", "port of the first engine, the others follow; 0: free ones [0]",
       [](O& o, S& n, S& v) { o.port = number<std::uint16_t>(n, v, 0, 65535); }},
      {"count", "N", "how many engines [1]",
       [](O& o, S& n, S& v) { o.count = number<std::uint32_t>(n, v, 1, 20000); }},
      {"control-port", "C", "control port; 0: a free one [none]",
       [](O& o, S& n, S& v) { o.control_port = number<std::uint16_t>(n, v, 0, 65535); }},
      {"host", "ADDRESS", "IPv4 or IPv6 address to listen on [127.0.0.1]",
       [](O& o, S&, S& v) { o.host = v; }},
      {"model", "NAME", "model served [sim-model]", [](O& o, S&, S& v) { o.engine.model = v; }},
      {"dialect", "NAME", "vllm or sglang [vllm]",
       [](O& o, S& n, S& v) {
         if (v != "vllm" && v != "sglang") refuse(n, v, "vllm or sglang");
         o.engine.dialect = v == "vllm" ? Dialect::Vllm : Dialect::Sglang;
       }},
      {"max-running", "N", "requests in the batch; 0: as --fast [64]",
       [](O& o, S& n, S& v) {
         const auto size = number<std::uint32_t>(n, v, 0, kMany);
         o.engine.fast = o.engine.fast || size == 0;
         o.engine.batch.max_running = size == 0 ? kMany : size;
       }},
      {"kv-blocks", "N", "KV blocks [65536]",
       [](O& o, S& n, S& v) { o.engine.batch.kv_blocks = number<std::uint32_t>(n, v, 1, kMany); }},
      {"block-size", "N", "tokens in a KV block [16]",
       [](O& o, S& n, S& v) { o.engine.batch.block_size = number<std::uint32_t>(n, v, 1, 4096); }},
      {"prefill-rate", "R",
       "prompt tokens/s, shared by the batch; 0: prefill takes no time [20000]",
       [](O& o, S& n, S& v) { o.engine.batch.prefill_rate = number<double>(n, v, 0, 1e12); }},
      {"decode-ms", "MS", "time of a decode step: one token for each running request [10]",
       [](O& o, S& n, S& v) { o.engine.batch.decode_ms = number<double>(n, v, 0, 1e6); }},
      {"decode-growth", "G", "a step is longer by this share per further request [0]",
       [](O& o, S& n, S& v) { o.engine.batch.decode_growth = number<double>(n, v, 0, 1e3); }},
      {"fast", "",
       "no engine model: whole answers at once, streams paced by --decode-ms; keeps no journal "
       "unless --journal comes later",
       [](O& o, S&, S&) {
         o.engine.fast = true;
         o.engine.journal = 0;
       }},
      {"no-loads", "", "do not serve /v1/loads",
       [](O& o, S&, S&) { o.engine.native_loads = false; }},
      {"journal", "K", "requests and aborts remembered for the control port; 0: counts only [1000]",
       [](O& o, S& n, S& v) { o.engine.journal = number<std::uint32_t>(n, v, 0, 10'000'000); }},
      {"script", "FILE", "TOML file with [[event]] tables", [](O& o, S&, S& v) { o.script = v; }},
      {"tls-cert", "FILE", "PEM certificate: serve https", [](O& o, S&, S& v) { o.tls_cert = v; }},
      {"tls-key", "FILE", "PEM key of the certificate", [](O& o, S&, S& v) { o.tls_key = v; }},
      {"quiet", "", "do not print where it listens", [](O& o, S&, S&) { o.quiet = true; }},
      {"help", "", "print this and exit", [](O& o, S&, S&) { o.help = true; }},
  };
  return kEntries;
}

const Entry& find(const std::string& word) {
  for (const Entry& entry : entries()) {
    if (word.starts_with("--") && word.substr(2) == entry.name) return entry;
  }
  throw std::invalid_argument("unknown option '" + word + "'");
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    std::optional<std::string> value;
    if (const std::size_t equals = word.find('='); equals != std::string::npos) {
      value = word.substr(equals + 1);
      word.resize(equals);
    }
    const Entry& entry = find(word);
    if (entry.argument.empty() && value) throw std::invalid_argument(word + " takes no value");
    if (!entry.argument.empty() && !value) {
      if (++i == argc) throw std::invalid_argument(word + " needs a value");
      value = argv[i];
    }
    entry.apply(options, std::string(entry.name), value.value_or(""));
  }
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    throw std::invalid_argument("--tls-cert and --tls-key go together");
  }
  if (options.port != 0 && options.port + options.count - 1 > 65535) {
    throw std::invalid_argument("--port " + std::to_string(options.port) + " with --count " +
                                std::to_string(options.count) + ": ports end at 65535");
  }
  return options;
}

std::string help_text() {
  std::string text = "smg-engine-sim [OPTIONS]   simulated inference engines, one port each\n";
  for (const Entry& entry : entries()) {
    std::string left = "  --" + std::string(entry.name);
    if (!entry.argument.empty()) left.append(" ").append(entry.argument);
    left.resize(std::max<std::size_t>(left.size() + 1, 22), ' ');
    text.append(left).append(entry.help).append("\n");
  }
  return text;
}

}  // namespace smg::sim
