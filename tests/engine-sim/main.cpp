// smg-engine-sim: simulated inference engines for tests, the demo and benchmarks.
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>

#include <toml++/toml.h>

#include "server.hpp"

namespace {

using namespace smg::sim;

constexpr const char* kHelp =
    R"(smg-engine-sim [OPTIONS]   simulated inference engines, one port each
  --port P           port of the first engine, the others follow; 0: free ones [0]
  --count N          how many engines [1]
  --control-port C   control port; 0: a free one [none]
  --host ADDRESS     [127.0.0.1]
  --model NAME       [sim-model]
  --dialect NAME     vllm or sglang [vllm]
  --max-running N    batch size; 0: no limit [64]
  --kv-blocks N      [65536]
  --block-size N     tokens in a KV block [16]
  --prefill-rate R   tokens/s [20000]
  --decode-ms MS     per token [10]
  --decode-growth G  more per token for each other running request, share of --decode-ms [0]
  --fast             no engine model: JSON at once, streams at sim_interval_ms
  --script FILE      TOML: [[event]] with at_ms, engine, kind, count, after
  --quiet            do not print where it listens
)";

[[noreturn]] void fail(const std::string& text) {
  std::cerr << "smg-engine-sim: " << text << "\n(smg-engine-sim --help lists the options)\n";
  std::exit(2);
}

class Options {
 public:
  Options(int argc, char** argv) {
    static const std::map<std::string, std::string> kDefaults = {
        {"port", "0"},          {"count", "1"},
        {"control-port", ""},   {"host", "127.0.0.1"},
        {"model", "sim-model"}, {"dialect", "vllm"},
        {"max-running", "64"},  {"kv-blocks", "65536"},
        {"block-size", "16"},   {"prefill-rate", "20000"},
        {"decode-ms", "10"},    {"decode-growth", "0"},
        {"fast", ""},           {"script", ""},
        {"quiet", ""}};
    values_ = kDefaults;
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (word == "--help" || word == "-h") {
        std::cout << kHelp;
        std::exit(0);
      }
      const std::string name = word.substr(std::min<std::size_t>(2, word.size()));
      if (!word.starts_with("--") || kDefaults.count(name) == 0) fail("unknown option " + word);
      if (name == "fast" || name == "quiet") {
        values_[name] = "1";
      } else if (i + 1 < argc) {
        values_[name] = argv[++i];
      } else {
        fail(word + " needs a value");
      }
    }
  }
  const std::string& text(const std::string& name) const { return values_.at(name); }
  double number(const std::string& name, double minimum, double maximum) const {
    const std::string& text = values_.at(name);
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size() || value < minimum ||
        value > maximum) {
      fail("--" + name + " " + text + ": must be a number from " + std::to_string(minimum) +
           " to " + std::to_string(maximum));
    }
    return value;
  }
  template <class T>
  T whole(const std::string& name, double minimum, double maximum) const {
    return static_cast<T>(number(name, minimum, maximum));
  }

 private:
  std::map<std::string, std::string> values_;
};

std::vector<Planned> read_script(const std::string& file) {
  std::vector<Planned> plan;
  try {
    const toml::table root = toml::parse_file(file);
    const auto* events = root["event"].as_array();
    if (events == nullptr) fail(file + ": has no [[event]]");
    for (const auto& node : *events) {
      const auto* table = node.as_table();
      if (table == nullptr) fail(file + ": event must be written as [[event]]");
      Planned planned;
      planned.at = static_cast<std::uint64_t>((*table)["at_ms"].value_or(std::int64_t{0})) * 1000;
      planned.engine = static_cast<int>((*table)["engine"].value_or(std::int64_t{-1}));
      planned.fault.kind = (*table)["kind"].value_or(std::string());
      planned.fault.count = (*table)["count"].value_or(std::int64_t{-1});
      planned.fault.after = (*table)["after"].value_or(std::int64_t{0});
      if (planned.fault.kind != "none" && !is_fault(planned.fault.kind)) {
        fail(file + ": kind = \"" + planned.fault.kind +
             "\": must be none or one of: " + std::string(fault_kinds()));
      }
      plan.push_back(planned);
    }
  } catch (const toml::parse_error& error) {
    fail(file + ": " + std::string(error.description()));
  }
  std::stable_sort(plan.begin(), plan.end(),
                   [](const Planned& a, const Planned& b) { return a.at < b.at; });
  return plan;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options(argc, argv);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  std::signal(SIGINT, [](int) { Server::stop(); });
  std::signal(SIGTERM, [](int) { Server::stop(); });
  ModelSettings settings;
  settings.max_running = options.whole<std::uint32_t>("max-running", 0, 1e9);
  settings.kv_blocks = options.whole<std::uint32_t>("kv-blocks", 1, 1e9);
  settings.block_size = options.whole<std::uint32_t>("block-size", 1, 4096);
  settings.prefill_rate = options.number("prefill-rate", 1, 1e12);
  settings.decode_ms = options.number("decode-ms", 0, 1e6);
  settings.decode_growth = options.number("decode-growth", 0, 1e6);
  const std::string& dialect = options.text("dialect");
  if (dialect != "vllm" && dialect != "sglang")
    fail("--dialect " + dialect + ": must be vllm or sglang");
  const std::string& host = options.text("host");
  Server server(host);
  const auto port = options.whole<std::uint16_t>("port", 0, 65535);
  const auto count = options.whole<std::uint32_t>("count", 1, 20000);
  const bool quiet = !options.text("quiet").empty();
  const std::string shown = host.find(':') == std::string::npos ? host : "[" + host + "]";
  for (std::uint32_t i = 0; i < count; ++i) {
    auto engine = std::make_unique<Engine>(
        options.text("model"), dialect == "vllm" ? Dialect::vllm : Dialect::sglang, settings);
    engine->fast = !options.text("fast").empty();
    const auto error = server.add_engine(std::move(engine),
                                         port == 0 ? port : static_cast<std::uint16_t>(port + i));
    if (!error.empty()) fail(error);
    if (!quiet)
      std::cout << "ready: http://" << shown << ":" << server.engines().back()->port << std::endl;
  }
  if (!options.text("control-port").empty()) {
    std::uint16_t bound = 0;
    const auto error =
        server.open_control(options.whole<std::uint16_t>("control-port", 0, 65535), bound);
    if (!error.empty()) fail(error);
    if (!quiet) std::cout << "control: http://" << shown << ":" << bound << std::endl;
  }
  if (!options.text("script").empty()) server.plan(read_script(options.text("script")));
  server.run();
  return 0;
}
