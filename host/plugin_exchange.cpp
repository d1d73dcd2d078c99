// How instances of plugins are exchanged: successors, what they inherit, and the swap.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <utility>

#include "host/base/views.hpp"
#include "host/plugin/state_handover.hpp"
#include "host/plugin_reload_job.hpp"

namespace smg {

// A successor for every instance. False: the job's outcome says why there is none.
bool PluginReload::create(Job& job) {
  std::string& error = job.outcome.problem;
  error = parts_.plugins.misfit(job.order.file, job.plugins, gone_);
  if (!error.empty()) return false;
  const auto config = parts_.refit(parts_.plugins.descriptors_with(job.order.file, job.plugins));
  if (!config) {
    error = job.order.file.string() +
            ": does not fit the configuration in force: " + config.problems.lines.front();
    return false;
  }
  job.options = parts_.instances.options();
  for (const auto& plugin : job.plugins) {
    const std::string name(plugin->name());
    // Those of other plugins are not asked for here.
    const auto take = [&](OptionTables& to, const OptionTables& from) {
      const auto key = std::pair(plugin->kind(), name);
      to.erase(key);
      if (const auto own = from.find(key); own != from.end()) to.insert(*own);
    };
    take(job.options.configured, config.value->plugin_options);
    take(job.options.by_label, config.value->label_options);
    if (plugin->kind() == SMG_KIND_POLICY) {
      for (const auto& [before, which] : parts_.policies.instances(name)) {
        auto after = parts_.instances.make_policy(plugin, which, job.options, error);
        if (after == nullptr) break;
        job.policies.push_back({before, std::move(after)});
      }
    } else if (plugin->kind() == SMG_KIND_TRANSPORT) {
      renew_transport(job, plugin);
    } else {
      renew_monitor(job, plugin);
    }
    if (!error.empty()) {
      error = job.order.file.string() + ": " + error;
      return false;
    }
  }
  return true;
}

void PluginReload::renew_transport(Job& job, const std::shared_ptr<const Plugin>& plugin) {
  auto before = parts_.instances.transport(plugin->name());
  if (before == nullptr) return;
  auto after = parts_.instances.make_transport(plugin, job.options, job.outcome.problem);
  if (after != nullptr) job.transports.push_back({std::move(before), std::move(after)});
}

void PluginReload::renew_monitor(Job& job, const std::shared_ptr<const Plugin>& plugin) {
  auto after = parts_.instances.make_monitor(plugin, job.options, job.outcome.problem);
  if (after == nullptr) return;
  const auto& all = parts_.loads.monitors();
  const auto before = std::find_if(all.begin(), all.end(), [&](const MonitorPtr& monitor) {
    return monitor->name == plugin->name();
  });
  job.monitors.push_back({before == all.end() ? nullptr : *before, std::move(after)});
}

// The same for instances whose options change, and what else another [policy] asks for.
bool PluginReload::create_other(Job& job) {
  std::string& error = job.outcome.problem;
  if (job.other->plugins != parts_.plugins.changes()) {
    error = kPluginsMoved;
    return false;
  }
  const PluginInstances::Options& present = parts_.instances.options();
  job.options = job.other->options;
  const auto stays = [&](const Plugin& plugin, PolicyChoice::Options which) {
    const bool configured = which == PolicyChoice::Options::configured;
    const auto& now = configured ? present.configured : present.by_label;
    const auto& then = configured ? job.options.configured : job.options.by_label;
    const auto key = std::pair(plugin.kind(), std::string(plugin.name()));
    const auto one = now.find(key), other = then.find(key);
    if (one == now.end() || other == then.end()) return one == now.end() && other == then.end();
    return one->second == other->second;
  };
  const auto make = [&](std::string_view name, PolicyChoice::Options which, std::string& why) {
    const auto plugin = parts_.plugins.find(SMG_KIND_POLICY, name);
    return parts_.instances.make_policy(plugin, which, job.options, why);
  };
  const auto keep = [&](std::string_view name) {
    return stays(*parts_.plugins.find(SMG_KIND_POLICY, name), PolicyChoice::Options::configured);
  };
  job.configured = parts_.policies.prepare_for(job.other->policy, make, keep, error);
  for (const auto& plugin : parts_.plugins.all()) {
    if (!error.empty()) return false;
    if (plugin->kind() == SMG_KIND_POLICY) {
      renew_policies(job, *plugin, stays, make);
    } else if (stays(*plugin, PolicyChoice::Options::configured)) {
      continue;
    } else if (plugin->kind() == SMG_KIND_TRANSPORT) {
      renew_transport(job, plugin);
    } else {
      renew_monitor(job, plugin);
    }
  }
  return error.empty();
}

void PluginReload::renew_policies(
    Job& job, const Plugin& plugin,
    const std::function<bool(const Plugin&, PolicyChoice::Options)>& stays,
    const PolicyChoice::Make& make) {
  for (const auto& [before, which] : parts_.policies.instances(plugin.name())) {
    if (parts_.policies.is_labelled(before)) {
      if (stays(plugin, which)) continue;
      auto after = make(plugin.name(), which, job.outcome.problem);
      if (after == nullptr) return;
      job.policies.push_back({before, std::move(after)});
    } else if (const auto named = job.configured.find(plugin.name());
               named == job.configured.end()) {
      job.dismissed.push_back(before);  // nobody asks for it any more
    } else if (named->second != before) {
      job.policies.push_back({before, named->second});
    }
  }
}

void PluginReload::hand_over(const std::shared_ptr<Job>& job) {
  for (const auto& [before, after] : job->policies) parts_.registry.introduce(after, before);
  if (!job->order.keep_state || job->policies.empty()) return swap(job);
  background_->submit([this, job]() -> Background::Then {
    for (const auto& [before, after] : job->policies) {
      const std::string note = hand_over_state(*before->instance, *after->instance);
      if (note.empty()) {
        job->outcome.handed_over.push_back("policy." + after->name);
      } else if (note != kNoHandover) {
        job->outcome.notes.push_back("policy." + after->name +
                                     " begins without what it knew: " + note);
      }
    }
    return [this, job] { swap(job); };
  });
}

void PluginReload::swap(const std::shared_ptr<Job>& job) {
  if (stopped_) return;
  if (!job->other) passed(*job, "create", Loop::clock());
  std::string error;
  for (auto pair = job->transports.begin(); pair != job->transports.end(); ++pair) {
    if (parts_.registry.move_workers(*pair->before, pair->after, error)) continue;
    // All or nothing.
    while (pair != job->transports.begin()) {
      --pair;
      std::string ignored;
      parts_.registry.move_workers(*pair->after, pair->before, ignored);
    }
    return refuse(job, "swap", error);
  }
  if (job->other) {
    if (error = job->other->along(); !error.empty()) {
      for (const auto& [before, after] : job->transports) {
        std::string ignored;
        parts_.registry.move_workers(*after, before, ignored);
      }
      return refuse(job, "swap", error);
    }
  }
  for (const auto& [before, after] : job->transports) {
    parts_.instances.replace_transport(after);
    parts_.instances.supersede(before);
  }
  for (const auto& [before, after] : job->policies) {
    parts_.policies.replace(before, after);
    parts_.instances.supersede(before);
  }
  for (const auto& gone : job->dismissed) parts_.instances.supersede(gone);
  if (job->other) {
    parts_.policies.reconfigure(job->other->policy, std::move(job->configured));
  }
  parts_.registry.change_policies(
      [this](std::string_view model, const Worker* first, const PolicyPtr& present) {
        return parts_.policies.choose_again(model, first, present);
      });
  for (const auto& [before, after] : job->monitors) {
    if (before == nullptr) {
      parts_.loads.add(after);
      continue;
    }
    spdlog::warn(
        "load source {} is exchanged: what it reported is forgotten, workers that were "
        "overloaded by it take requests until they report again",
        after->name);
    parts_.loads.replace(before, after);
    parts_.instances.supersede(before);
  }
  parts_.instances.set_options(job->options);
  if (!job->other) install(*job);
  for (const auto& name : job->outcome.handed_over) {
    spdlog::info("{} goes on with what the version before knew", name);
  }
  for (const auto& note : job->outcome.notes) spdlog::warn(note);
  if (!job->transports.empty()) parts_.moved();
  const bool others = !job->other;
  end(job);
  if (others) parts_.changed();
}

void PluginReload::install(Job& job) {
  parts_.plugins.install(job.order.file, job.plugins);
  job.outcome.generation = job.staged->generation;
  parts_.families.plugin_generation.with({job.library})
      .set(static_cast<double>(job.staged->generation));
  passed(job, "swap", Loop::clock());
  for (const auto& plugin : job.plugins) {
    parts_.instances.announce(text(plugin->descriptor.name),
                              "running generation " + std::to_string(job.staged->generation));
    spdlog::info("{} {} version {} runs now, generation {} of {}", kind_name(plugin->kind()),
                 plugin->name(), text(plugin->descriptor.version), job.staged->generation,
                 job.order.file.string());
  }
}

}  // namespace smg
