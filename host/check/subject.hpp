// What a rule works on: one plugin of a library that was opened for this rule alone, its options,
// and the surroundings of a gateway. In the child process of the rule.
#pragma once

#include <memory>
#include <string>

#include "host/check/command.hpp"
#include "host/check/finding.hpp"
#include "host/check/library_file.hpp"
#include "host/check/options_file.hpp"
#include "host/check/rig.hpp"

namespace smg::check {

struct Subject {
  static constexpr std::uint32_t kDataLoops = 3;

  Subject(const Command& order, const Node& options_document, std::shared_ptr<const Plugin> which)
      : command(order), document(options_document), plugin(std::move(which)), rig(kDataLoops) {
    std::string problem;
    std::vector<std::string> unknown;
    options = options_for(plugin->descriptor, document, problem, unknown);
  }

  // Throws std::runtime_error with the plugin's reason.
  std::unique_ptr<PluginInstance> create() {
    std::string problem;
    auto instance = rig.create(plugin, options, problem);
    if (instance == nullptr) throw std::runtime_error(problem);
    return instance;
  }

  const Command& command;
  const Node& document;
  std::shared_ptr<const Plugin> plugin;
  PluginOptions options;
  Rig rig;
};

// A rule of the referee. `id` is stable: authors and tests go by it.
struct Rule {
  const char* id;
  Finding (*check)(Subject& subject);
  unsigned seconds;  // after which it has failed
  bool full;         // only with --full
};

}  // namespace smg::check
