// Reloads the configuration of a running gateway: the same command line with the file as it is now.
//
// All or nothing: what is wrong with the file is found before anything changes, and then nothing
// does. The file is read and checked on a thread of its own; whoever owns the running parts puts
// the result in force on the control loop and says when every loop goes by it. Requests are served
// one after the other, in order. Each reload that succeeds has a generation, the start is 1.
//
// Control loop. Requests that are not answered when the object goes are dropped.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/admin/background.hpp"
#include "host/admin/file_watch.hpp"
#include "host/bus/bus.hpp"
#include "host/config/diff.hpp"
#include "host/config/load.hpp"
#include "host/metrics/families.hpp"

namespace smg {

// Where the configuration came from: the command, and its file's text as it was read.
struct ConfigSource {
  ParsedCommand command;
  std::string text;
};

class ConfigReload {
 public:
  enum class Trigger : std::uint8_t { request, signal, file, plugins };
  struct Outcome {
    std::uint64_t generation = 0;  // that is in force
    std::shared_ptr<ConfigChanges> changes = std::make_shared<ConfigChanges>();
    std::vector<std::string> warnings;
    Problems problems;  // not empty: nothing has changed
  };
  using Done = std::function<void(const Outcome&)>;
  // The plugins that a configuration is checked against, and what keeps their texts there.
  struct Plugins {
    std::vector<const smg_plugin*> descriptors;
    std::shared_ptr<const void> keep;
    std::uint64_t changes = 0;  // PluginRegistry::changes()
  };
  class Target {
   public:
    virtual ~Target() = default;
    virtual const Config& running() const = 0;
    virtual Plugins plugins() const = 0;
    // Puts `wanted` in force as far as that is possible now and completes `changes`. `done` is
    // called once all loops go by it, or with a sentence: then nothing has changed.
    // `plugins`: as of the checks. PluginReload::kPluginsMoved says that they have to be repeated.
    virtual void apply(const Config& wanted, std::uint64_t plugins,
                       const std::shared_ptr<ConfigChanges>& changes,
                       std::function<void(std::string refusal)> done) = 0;
  };

  ConfigReload(Loop& control, Target& target, Families& families, Bus& bus, ConfigSource source);
  ConfigReload(const ConfigReload&) = delete;
  ConfigReload& operator=(const ConfigReload&) = delete;

  // There is a file to reload.
  bool has_file() const { return !command_.config_file.empty(); }
  // What the configuration in force says where the plugins are these. Its host settings may be
  // newer than those that run: some need a restart.
  Result<Config> read_for(std::span<const smg_plugin* const> plugins) const;
  // Serves requests, those that came before too, and watches the file. Announces generation 1.
  void start();
  // REQUIRES: has_file().
  void request(Trigger trigger, Done done = {});
  // The plugins are others: a file that was refused is tried again.
  void plugins_changed();

 private:
  struct Request {
    Trigger trigger;
    Done done;
  };

  void serve_next();
  // [background] The file's text, and what it says; neither if it is the text known already and
  // only the watch asks.
  struct Reading {
    Result<std::string> text;
    Result<Config> config;
    bool is_news = true;
    std::uint64_t plugins = 0;  // Plugins::changes
  };
  static Reading read(const ParsedCommand& command, const Plugins& plugins,
                      const std::optional<std::string>& unless);
  void take(Reading reading);
  void succeed(Outcome outcome);
  void fail(Problems problems);
  void end(const Outcome& outcome);
  void announce();
  void watch();

  Loop& control_;
  Target& target_;
  Families& families_;
  Bus& bus_;
  const ParsedCommand command_;
  std::string text_;      // of the file, as it was read last
  std::string in_force_;  // ... when it was last put in force
  std::uint64_t generation_ = 1;
  std::deque<Request> requests_;  // the first one is being served
  bool started_ = false;
  bool serving_ = false;
  bool refused_ = false;  // what the file says now
  std::optional<FileWatch> watch_;
  const std::shared_ptr<bool> here_ = std::make_shared<bool>(true);
  Background background_;  // destroyed first: its work uses the rest
};

}  // namespace smg
