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
  error = parts_.plugins.misfit(job.order.file, job.plugins);
  if (!error.empty()) return false;
  const auto config = parts_.refit(parts_.plugins.descriptors_with(job.order.file, job.plugins));
  if (!config) {
    error = job.order.file.string() +
            ": does not fit the configuration: " + config.problems.lines.front();
    return false;
  }
  job.options = {config.value->plugin_options, config.value->label_options};
  for (const auto& plugin : job.plugins) {
    const std::string name(plugin->name());
    if (plugin->kind() == SMG_KIND_POLICY) {
      for (const auto& [before, which] : parts_.policies.instances(name)) {
        auto after = parts_.instances.make_policy(plugin, which, job.options, error);
        if (after == nullptr) break;
        job.policies.push_back({before, std::move(after)});
      }
    } else if (plugin->kind() == SMG_KIND_TRANSPORT) {
      if (auto before = parts_.instances.transport(name); before != nullptr) {
        auto after = parts_.instances.make_transport(plugin, job.options, error);
        if (after != nullptr) job.transports.push_back({std::move(before), std::move(after)});
      }
    } else if (auto after = parts_.instances.make_monitor(plugin, job.options, error)) {
      const auto& all = parts_.loads.monitors();
      const auto before = std::find_if(
          all.begin(), all.end(), [&](const MonitorPtr& monitor) { return monitor->name == name; });
      job.monitors.push_back({before == all.end() ? nullptr : *before, std::move(after)});
    }
    if (!error.empty()) {
      error = job.order.file.string() + ": " + error;
      return false;
    }
  }
  return true;
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
  if (!job->other) passed(*job, "create");
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
  for (const auto& note : job->outcome.notes) spdlog::warn(note);
  end(job);
}

void PluginReload::install(Job& job) {
  parts_.plugins.install(job.order.file, job.plugins);
  job.outcome.generation = job.staged->generation;
  parts_.families.plugin_generation.with({job.library})
      .set(static_cast<double>(job.staged->generation));
  passed(job, "swap");
  for (const auto& plugin : job.plugins) {
    parts_.instances.announce(text(plugin->descriptor.name),
                              "running generation " + std::to_string(job.staged->generation));
    spdlog::info("{} {} version {} runs now, generation {} of {}", kind_name(plugin->kind()),
                 plugin->name(), text(plugin->descriptor.version), job.staged->generation,
                 job.order.file.string());
  }
}

}  // namespace smg
