// smg-engine-sim: simulated inference engines for tests, the demo and benchmarks.
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <iostream>

#include "control.hpp"
#include "options.hpp"
#include "script.hpp"

namespace {

using namespace smg::sim;

class StopSignals final : public Loop::Watcher {
 public:
  explicit StopSignals(Loop& loop) : loop_(loop) {
    std::signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    loop_.watch(fd_, *this, EPOLLIN);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals() { close(fd_); }
  void ready(std::uint32_t) override { loop_.stop(); }

 private:
  Loop& loop_;
  int fd_ = -1;
};

void allow_many_connections() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void run(const Options& options) {
  allow_many_connections();
  Loop loop;
  StopSignals signals(loop);
  std::unique_ptr<TlsContext> tls;
  if (!options.tls_cert.empty()) {
    tls = std::make_unique<TlsContext>(options.tls_cert, options.tls_key);
  }
  std::vector<ScriptEvent> events;
  if (!options.script.empty()) events = read_script(options.script, options.count);
  Engines engines;
  for (std::uint32_t i = 0; i < options.count; ++i) {
    const auto port = static_cast<std::uint16_t>(options.port == 0 ? 0 : options.port + i);
    engines.push_back(
        std::make_unique<Engine>(loop, options.engine, options.host, port, tls.get()));
    if (!options.quiet) {
      std::cout << "ready: " << engines.back()->port().url() << " engine " << i << std::endl;
    }
  }
  std::unique_ptr<Control> control;
  if (options.control_port) {
    control = std::make_unique<Control>(loop, options.host, *options.control_port, engines);
    if (!options.quiet) std::cout << "control: " << control->port().url() << std::endl;
  }
  const ScriptRunner script(loop, std::move(events), engines);
  loop.run();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse_options(argc, argv);
    if (options.help) {
      std::cout << help_text();
      return 0;
    }
    run(options);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "smg-engine-sim: " << error.what()
              << "\n(smg-engine-sim --help lists the options)\n";
    return 2;
  }
}
