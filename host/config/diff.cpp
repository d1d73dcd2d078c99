#include "host/config/diff.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "host/config/plugin_options.hpp"
#include "host/config/settings.hpp"

namespace smg {
namespace {

constexpr std::string_view kLive[] = {"auth",
                                      "overload",
                                      "liveness",
                                      "load_monitor",
                                      "health_check",
                                      "circuit_breaker",
                                      "retry",
                                      "pd",
                                      "admission",
                                      "priority_scheduler.default_max_class",
                                      "priority_scheduler.config",
                                      "priority_scheduler.tenant_metric_top_n",
                                      "log.level",
                                      "log.access",
                                      "routing_key_override.headers",
                                      "server.max_payload_size",
                                      "server.request_timeout_secs",
                                      "server.shutdown_grace_period_secs",
                                      "server.stream_body_stall_timeout_secs",
                                      "server.cors_allowed_origins",
                                      "server.request_id_headers",
                                      "server.worker_startup_timeout_secs",
                                      "server.worker_startup_delay_secs",
                                      "server.worker_startup_check_interval_secs",
                                      "server.watch_config"};

using OptionTables = decltype(Config::plugin_options);

bool is_of_policy(const Setting& setting) {
  return setting.section == "policy";
}

// All options of all plugins of both sides, by name; true if it differs.
void compare_options(const OptionTables& running, const OptionTables& wanted,
                     std::map<std::string, bool>& differs) {
  const auto look = [&](const OptionTables& tables, const OptionTables& others) {
    for (const auto& [plugin, options] : tables) {
      const auto other = others.find(plugin);
      for (const auto& [option, value] : options) {
        bool same = false;
        if (other != others.end()) {
          const auto found = other->second.find(option);
          same = found != other->second.end() && found->second == value;
        }
        differs[std::string(plugin_kind_name(plugin.first)) + "." + plugin.second + "." + option] |=
            !same;
      }
    }
  };
  look(running, wanted);
  look(wanted, running);
}

// The scheduler's tables, which are no settings of their own.
void compare_priorities(const PriorityScheduler& running, const PriorityScheduler& wanted,
                        ConfigChanges& changes) {
  for (std::size_t rank = 0; rank < wanted.classes.size(); ++rank) {
    if (running.classes[rank] == wanted.classes[rank]) continue;
    changes.applied.push_back("priority_scheduler.classes." +
                              std::string(defaults::kPriorityClasses[rank]));
  }
  if (running.tenant_max_class != wanted.tenant_max_class) {
    changes.applied.emplace_back("priority_scheduler.tenant_policies");
  }
}

const WorkerSpec* find_worker(const Config& config, const std::string& url) {
  const auto found = std::find_if(config.workers.begin(), config.workers.end(),
                                  [&](const WorkerSpec& worker) { return worker.url.text == url; });
  return found == config.workers.end() ? nullptr : &*found;
}

}  // namespace

bool is_live(const Setting& setting) {
  const std::string name = setting.name();
  return std::any_of(std::begin(kLive), std::end(kLive), [&](std::string_view entry) {
    return entry == setting.section || entry == name;
  });
}

ConfigChanges compare(const Config& running, const Config& wanted) {
  ConfigChanges changes;
  for (const auto& setting : all_settings()) {
    if (setting.same(running, wanted)) {
      ++changes.unchanged;
    } else {
      auto& list = is_of_policy(setting) ? changes.instances
                   : is_live(setting)    ? changes.applied
                                         : changes.restart_needed;
      list.push_back(setting.name());
    }
  }
  compare_priorities(running.priority_scheduler, wanted.priority_scheduler, changes);
  std::map<std::string, bool> options;
  compare_options(running.plugin_options, wanted.plugin_options, options);
  compare_options(running.label_options, wanted.label_options, options);
  for (const auto& [name, differs] : options) {
    if (differs) {
      changes.instances.push_back(name);
    } else {
      ++changes.unchanged;
    }
  }
  for (const auto& worker : wanted.workers) {
    const WorkerSpec* before = find_worker(running, worker.url.text);
    if (before == nullptr) {
      changes.workers_added.push_back(worker.url.text);
    } else if (*before == worker) {
      ++changes.unchanged;
    } else {
      changes.workers_changed.push_back(worker.url.text);
    }
  }
  for (const auto& worker : running.workers) {
    if (find_worker(wanted, worker.url.text) != nullptr) continue;
    changes.workers_removed.push_back(worker.url.text);
  }
  return changes;
}

void take_live(Config& running, const Config& wanted) {
  for (const auto& setting : all_settings()) {
    if (is_live(setting)) setting.copy(running, wanted);
  }
  running.priority_scheduler.classes = wanted.priority_scheduler.classes;
  running.priority_scheduler.tenant_max_class = wanted.priority_scheduler.tenant_max_class;
  running.workers = wanted.workers;
  running.warnings = wanted.warnings;
}

}  // namespace smg
