// The program: command line, configuration, signals, start, drain.
#include <Poco/Util/ServerApplication.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <thread>

#include "host/config/load.hpp"
#include "host/crash_report.hpp"
#include "host/gateway.hpp"
#include "host/logging.hpp"
#include "host/new_plugin.hpp"
#include "host/plugin/registry.hpp"
#include "host/service_notify.hpp"

namespace smg {
namespace {

constexpr int kBadConfiguration = 2;

std::filesystem::path program_file() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored);
}

// Entries may begin with $ORIGIN, the directory of the program, as for the dynamic linker.
std::vector<std::string> resolve_origin(std::vector<std::string> paths) {
  static constexpr std::string_view kOrigin = "$ORIGIN";
  const auto program = program_file();
  for (auto& path : paths) {
    if (!path.starts_with(kOrigin)) continue;
    path = std::filesystem::path(program.parent_path().string() + path.substr(kOrigin.size()))
               .lexically_normal()
               .string();
  }
  return paths;
}

sigset_t termination_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGQUIT);
  return set;
}

// SIGHUP reloads. It is no wish to end the process, also not before it listens.
sigset_t waited_for_signals() {
  sigset_t set = termination_signals();
  sigaddset(&set, SIGHUP);
  return set;
}

// Thousands of connections need descriptors: take what the system allows.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

class Application final : public Poco::Util::ServerApplication {
 public:
  Application(std::vector<const char*> arguments) : arguments_(std::move(arguments)) {}

 protected:
  int main(const std::vector<std::string>&) override {
    ParsedCommand command = parse_command_line(arguments_);
    if (!command.problems.empty()) {
      std::cerr << command.problems.text();
      return kBadConfiguration;
    }
    if (command.command == Command::kVersion) {
      std::cout << "smg " << SMG_VERSION << "\n";
      return EXIT_OK;
    }
    if (command.command == Command::kVersionVerbose) {
      std::cout << "smg " << SMG_VERSION << "\nplugin ABI " << SMG_ABI_MAJOR << "." << SMG_ABI_MINOR
                << "\ncompiler " << __VERSION__ << "\n";
      return EXIT_OK;
    }
    if (command.command == Command::kPluginsNew) return make_plugin(command.new_plugin);
    auto text = read_file(command);
    auto draft = text ? read_text(command, *text.value, command.config_file)
                      : Result<Draft>{std::nullopt, text.problems};
    if (!draft) {
      std::cerr << draft.problems.text();
      return kBadConfiguration;
    }
    std::string error;
    const auto run_dir = RunDir::make(draft.value->config.plugins.run_dir, error);
    if (run_dir == nullptr) {
      std::cerr << error << "\n";
      return kBadConfiguration;
    }
    PluginRegistry plugins(*run_dir);
    const auto load_problems = plugins.load_all(resolve_origin(draft.value->config.plugins.paths));
    const auto descriptors = plugins.descriptors();
    switch (command.command) {
      case Command::kHelp:
        std::cout << help_text(descriptors);
        return EXIT_OK;
      case Command::kPluginsList:
        for (const auto& problem : load_problems) std::cerr << problem << "\n";
        std::cout << list_plugins(descriptors);
        return EXIT_OK;
      case Command::kPluginsDescribe:
        return describe(command.plugin, descriptors);
      default:
        break;
    }
    auto config = finish(std::move(*draft.value), descriptors);
    for (const auto& problem : load_problems) std::cerr << problem << "\n";
    if (!config) std::cerr << config.problems.text();
    if (!config || !load_problems.empty()) return kBadConfiguration;
    if (command.command == Command::kCheckConfig) {
      for (const auto& warning : config.value->warnings)
        std::cout << "warning: " << warning << "\n";
      // Some of it only the plugins know.
      if (const auto unfit = Gateway(*config.value, plugins).prepare(); !unfit.empty()) {
        std::cerr << unfit << "\n";
        return kBadConfiguration;
      }
      std::cout << command.config_file << ": ok\n" << summary(*config.value);
      return EXIT_OK;
    }
    return serve(std::move(*config.value), plugins, {std::move(command), std::move(*text.value)});
  }

 private:
  static int make_plugin(const NewPlugin& wish) {
    std::string error;
    const std::string next = write_project(wish, program_file(), error);
    (error.empty() ? std::cout : std::cerr) << next << error;
    return error.empty() ? EXIT_OK : kBadConfiguration;
  }

  static int describe(const std::string& name, const std::vector<const smg_plugin*>& plugins) {
    bool found = false;
    for (const smg_plugin* plugin : plugins) {
      if (std::string_view(plugin->name.data, plugin->name.size) != name) continue;
      std::cout << (found ? "\n" : "") << describe_plugin(*plugin);
      found = true;
    }
    if (found) return EXIT_OK;
    std::cerr << "no plugin is named '" << name
              << "'; `smg plugins list` shows those that are there\n";
    return kBadConfiguration;
  }

  static int serve(Config config, PluginRegistry& plugins, ConfigSource source) {
    if (const auto error = start_logging(config.log); !error.empty()) {
      std::cerr << error << "\n";
      return kBadConfiguration;
    }
    for (const auto& warning : config.warnings) spdlog::warn(warning);
    raise_descriptor_limit();
    int code = EXIT_OK;
    {
      Gateway gateway(std::move(config), plugins, std::move(source));
      std::string unfit = gateway.prepare();
      if (unfit.empty()) unfit = gateway.add_workers();
      if (!unfit.empty()) {
        spdlog::error(unfit);
        code = kBadConfiguration;
      } else if (const auto error = gateway.start(); !error.empty()) {
        spdlog::error(error);
        code = EXIT_CONFIG;
      } else {
        wait_and_drain(gateway);
      }
    }
    spdlog::info("stopped");
    stop_logging();
    return code;
  }

  static void wait_and_drain(Gateway& gateway) {
    notify_service_manager("READY=1");
    const sigset_t signals = termination_signals();
    const sigset_t all = waited_for_signals();
    int signal = 0;
    do {
      sigwait(&all, &signal);
      if (signal == SIGHUP) gateway.reload_all();
    } while (signal == SIGHUP);
    notify_service_manager("STOPPING=1");
    // A second signal ends the waiting.
    static std::atomic<bool> hurry{false};
    static std::atomic<bool> over{false};
    std::thread watcher([&] {
      const timespec slice{0, 100'000'000};
      while (!over.load()) {
        if (sigtimedwait(&signals, nullptr, &slice) > 0) hurry.store(true);
      }
    });
    gateway.shut_down(hurry);
    over.store(true);
    watcher.join();
  }

  std::vector<const char*> arguments_;
};

}  // namespace
}  // namespace smg

int main(int argc, char** argv) {
  // Before any thread is made, so that all inherit it: signals are waited for in one place.
  const sigset_t signals = smg::waited_for_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  smg::Application application({argv + 1, argv + argc});
  smg::install_crash_report();
  // The command line is the gateway's own; Poco sees none of it.
  char* name[] = {argv[0], nullptr};
  return application.run(1, name);
}
