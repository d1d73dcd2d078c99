// What a reload of the configuration does to the running parts. Control loop.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "host/base/views.hpp"
#include "host/fleet/describe_worker.hpp"
#include "host/gateway.hpp"
#include "host/logging.hpp"

namespace smg {

ConfigReload::Plugins Gateway::plugins() const {
  auto kept = std::make_shared<std::vector<std::shared_ptr<const Plugin>>>();
  ConfigReload::Plugins plugins;
  plugins.descriptors = plugins_.descriptors();
  plugins.changes = plugins_.changes();
  for (const smg_plugin* plugin : plugins.descriptors) {
    kept->push_back(plugins_.find(plugin->kind, text(plugin->name)));
  }
  plugins.keep = std::move(kept);
  return plugins;
}

void Gateway::reload_all() {
  if (tls_ != nullptr) tls_->reload();
  loops_.run_on(loops_.data_count(), [&] {
    if (!reload_->has_file()) {
      spdlog::info("SIGHUP: the gateway was started without --config, only plugins are reloaded");
      return plugin_reload_->reload_changed({});
    }
    // The file may speak of plugins that are new.
    plugin_reload_->reload_changed(
        [this](const PluginReload::Summary&) { reload_->request(ConfigReload::Trigger::signal); });
  });
}

void Gateway::apply(const Config& wanted, std::uint64_t plugins,
                    const std::shared_ptr<ConfigChanges>& changes,
                    std::function<void(std::string refusal)> done) {
  auto next = std::make_shared<const Config>(wanted);
  plugin_reload_->reconfigure(
      {.plugins = plugins,
       .policy = next->policy,
       .options = {next->plugin_options, next->label_options},
       .along = [this, next, changes] { return apply_settings(*next, *changes); },
       .done =
           [this, changes, done = std::move(done)](std::string refusal) {
             if (!refusal.empty()) return done(std::move(refusal));
             auto& applied = changes->applied;
             applied.insert(applied.end(), changes->instances.begin(), changes->instances.end());
             changes->instances.clear();
             if (listening_ == nullptr) return done({});
             listening_->apply(config_, [done] { done({}); });
           }});
}

std::string Gateway::apply_settings(const Config& wanted, const ConfigChanges& changes) {
  // Whatever can fail comes first, and reads the new settings.
  Config before = config_;
  take_live(config_, wanted);
  std::vector<WorkerSpec> fresh;
  for (const auto& spec : wanted.workers) {
    for (const auto* urls : {&changes.workers_added, &changes.workers_changed}) {
      if (std::find(urls->begin(), urls->end(), spec.url.text) != urls->end())
        fresh.push_back(spec);
    }
  }
  Registration::Prepared jobs;
  if (auto error = registration_->prepare(fresh, jobs); !error.empty()) {
    registration_->drop(jobs);
    config_ = std::move(before);
    return error;
  }
  config_.policy = wanted.policy;
  config_.plugin_options = wanted.plugin_options;
  config_.label_options = wanted.label_options;
  registration_->submit(jobs);
  for (const auto& url : changes.workers_removed) registration_->remove_configured(url);
  set_log_level(config_.log.level);
  const std::uint64_t now = loops_.control().now();
  for (const auto& worker : registry_->present()) {
    worker->runtime()->configure(runtime_settings_of(worker->description(), config_), now);
  }
  admission_->configure(config_, now);
  control_plane_->configure(config_.auth);
  load_poller_->config_changed();
  health_checker_->config_changed();
  return {};
}

}  // namespace smg
