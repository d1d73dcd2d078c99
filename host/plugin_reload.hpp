// Exchanges plugin libraries while the gateway runs.
//
// A file is reloaded in steps, each of which may refuse it; until the swap nothing has changed, and
// the instances that serve go on:
//   copy     read, check, copy to the private directory              background thread
//   canary   the copy is exercised in a process of its own           background thread
//   create   open it, make a successor for every instance, hand      background thread, control
//   loop
//            over what the old ones have learnt
//   swap     requests see the new instances                          control loop, one turn
//   retire   the old ones go with their last user, the library       control loop, background
//   thread
//            is closed when every loop has taken another turn
// Triggers: a change of the file that has settled (looked for every kLookInterval), SIGHUP, and the
// admin API. One file at a time, in order of the asking.
//
// Control loop.
#pragma once

#include <atomic>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/admin/background.hpp"
#include "host/base/file_signature.hpp"
#include "host/config/load.hpp"
#include "host/fleet/policy_choice.hpp"
#include "host/fleet/registry.hpp"
#include "host/load/load_poller.hpp"
#include "host/loop/loop_group.hpp"
#include "host/metrics/families.hpp"
#include "host/plugin/registry.hpp"
#include "host/plugin_instances.hpp"

namespace smg {

class PluginReload {
 public:
  static constexpr std::uint64_t kLookInterval = 500'000'000;
  static constexpr std::uint64_t kDrainWarning = 60'000'000'000;

  // The parts of the gateway that use plugins. All outlive the object.
  struct Parts {
    LoopGroup& loops;
    PluginRegistry& plugins;
    PluginInstances& instances;
    PolicyChoice& policies;
    Registry& registry;
    LoadPoller& loads;
    Families& families;
    std::filesystem::path checker;  // the program smg-plugin-check
    // The present configuration read anew for these plugins.
    std::function<Result<Config>(std::span<const smg_plugin* const>)> refit;
    std::function<void()> changed;  // there are other plugins now
    std::function<void()> moved;    // workers have new endpoints
  };

  struct Outcome {
    std::string problem;  // why nothing has changed
    bool unchanged = false;
    std::uint64_t generation = 0;          // of the library that serves now
    std::vector<std::string> handed_over;  // `policy.cache_aware`: what kept its state
    std::vector<std::string> notes;        // ... and why others begin without one
  };
  using Done = std::function<void(const Outcome&)>;

  struct Order {
    std::filesystem::path file;
    bool keep_state = true;
    bool only_if_changed = false;  // else it is taken anew as it is
    Done done;                     // may be empty
  };

  // Another configuration for what runs.
  struct Reconfigure {
    std::uint64_t plugins = 0;  // PluginRegistry::changes() when it was checked
    PolicyConfig policy;
    PluginInstances::Options options;
    // What else comes in force with it, in the same turn; a sentence: none of it does.
    std::function<std::string()> along;
    std::function<void(std::string refusal)> done;
  };
  // The refusal of one that was checked against plugins that are others now: check it again.
  static constexpr const char* kPluginsMoved = "the plugins are others by now";

  PluginReload(Parts parts, bool watch);
  ~PluginReload();
  PluginReload(const PluginReload&) = delete;
  PluginReload& operator=(const PluginReload&) = delete;

  // Takes no further orders, and those that wait are dropped; ends what is under way.
  void stop();
  void reload(Order order);
  void reconfigure(Reconfigure other);
  // Every file that is not the one that was loaded, and every new one. `done` when the last is
  // dealt with, with the names of those that were exchanged and one sentence per problem.
  struct Summary {
    std::vector<std::string> reloaded, problems;
  };
  void reload_changed(std::function<void(const Summary&)> done);

  // Why a file could not be taken the last time, by file; those that could are not in it.
  const std::map<std::filesystem::path, std::string>& problems() const { return problems_; }
  // No library is on its way out. [any]
  bool idle() const { return leaving_.load(std::memory_order_acquire) == 0; }
  // Files that are gone while their code goes on.
  const std::set<std::filesystem::path>& gone() const { return gone_; }

 private:
  struct Job;
  struct Sighting {
    FileSignature seen, dealt_with;
  };
  struct Timer : smg_timer {
    PluginReload* owner;
  };
  struct Farewell;

  void next();
  // [background] All up to the opened library, of which `present` is the hash that serves.
  Background::Then prepare(const std::shared_ptr<Job>& job, const std::string& present,
                           const OptionTables& tables);
  void prepared(const std::shared_ptr<Job>& job);
  bool create(Job& job);
  bool create_other(Job& job);
  void renew_policies(Job& job, const Plugin& plugin,
                      const std::function<bool(const Plugin&, PolicyChoice::Options)>& stays,
                      const PolicyChoice::Make& make);
  void renew_transport(Job& job, const std::shared_ptr<const Plugin>& plugin);
  void renew_monitor(Job& job, const std::shared_ptr<const Plugin>& plugin);
  void hand_over(const std::shared_ptr<Job>& job);
  void swap(const std::shared_ptr<Job>& job);
  void install(Job& job);
  void end(const std::shared_ptr<Job>& job);
  void refuse(const std::shared_ptr<Job>& job, std::string_view step, std::string problem);
  void passed(Job& job, std::string_view step, std::uint64_t at);
  static void look(smg_timer* timer);
  // `complete`: what is not found is not there.
  void looked(const std::map<std::filesystem::path, FileSignature>& found, bool complete);
  void retire(std::unique_ptr<PluginLibrary> library);
  void warn_of_late_ones();

  Parts parts_;
  Loop& control_;
  std::deque<std::shared_ptr<Job>> jobs_;  // the first one runs
  std::map<std::filesystem::path, Sighting> sightings_;
  std::map<std::filesystem::path, std::string> problems_;
  std::set<std::filesystem::path> gone_;
  Timer timer_{};
  bool looking_ = false;
  bool stopped_ = false;
  std::atomic<std::uint32_t> leaving_{0};
  std::unique_ptr<Background> background_;
};

}  // namespace smg
