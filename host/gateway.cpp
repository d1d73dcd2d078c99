#include "host/gateway.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <map>
#include <thread>
#include <utility>

#include "host/base/views.hpp"
#include "host/config/duration.hpp"
#include "host/loop/loop_service.hpp"

namespace smg {
namespace {

MetricsOptions metrics_options(const Config& config, std::uint32_t loops) {
  MetricsOptions options;
  options.loops = loops;
  options.duration_bounds = config.metrics.duration_buckets;
  return options;
}

std::filesystem::path program_directory() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
}

// True once `done` says so, false at the deadline or when `hurry` is set.
template <class Done>
bool wait_until(Done done, std::uint64_t deadline, const std::atomic<bool>& hurry) {
  while (!done()) {
    if (hurry.load() || Loop::clock() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

HostServices never_fenced(HostServices services) {
  services.fault_limits.max_faults = 0;
  return services;
}

}  // namespace

Gateway::Gateway(Config config, PluginRegistry& plugins, ConfigSource source)
    : config_(std::move(config)),
      source_(std::move(source)),
      plugins_(plugins),
      loops_(config_.server.runtime_worker_threads.value_or(available_cpus())),
      metrics_(metrics_options(config_, loops_.count())),
      families_(metrics_),
      bus_(Loop::clock, &families_.bus_events_dropped),
      resolver_(loops_),
      endpoints_(loops_),
      strays_(never_fenced(services()), "plugin.unknown") {
  install_loop_service(&loops_, &resolver_);
  strays_.take_strays();
  publish_.owner = this;
  publish_.run = [](smg_task* task) {
    static_cast<Task*>(task)->waits = false;
    const Gateway& self = *static_cast<Task*>(task)->owner;
    if (self.registry_ != nullptr) self.registry_->publish();
  };
}

HostServices Gateway::services() {
  HostServices services = HostServices::basic();
  services.now = [] {
    const Loop* loop = Loop::current();
    return loop == nullptr ? Loop::clock() : loop->now();
  };
  services.metrics = &metrics_;
  services.bus = &bus_;
  services.loop = &loop_service();
  services.resolve = &resolve_service();
  services.fleet = &fleet_service();
  services.gateway = &desk_;
  services.fault_limits = {config_.plugins.max_faults,
                           seconds_to_ns(config_.plugins.fault_window_secs)};
  return services;
}

PolicyPtr Gateway::make_policy(std::string_view name, PolicyChoice::Options which,
                               std::string& error) {
  const auto plugin = plugins_.find(SMG_KIND_POLICY, name);
  if (plugin == nullptr) {
    error = "no plugin offers the policy '" + std::string(name) + "'";
    return nullptr;
  }
  auto made = instances_->make_policy(plugin, which, instances_->options(), error);
  if (made != nullptr) instances_->announce(name, "running");
  return made;
}

std::string Gateway::create_parts() {
  create_admission();
  instances_ = std::make_unique<PluginInstances>(
      loops_.control(), plugins_, families_, bus_, [this] { return services(); },
      PluginInstances::Options{config_.plugin_options, config_.label_options});
  policies_ = std::make_unique<PolicyChoice>(
      config_.policy, [this] { return plugins_.names(SMG_KIND_POLICY); },
      [this](std::string_view name, PolicyChoice::Options which, std::string& problem) {
        return make_policy(name, which, problem);
      });
  if (auto error = policies_->prepare(); !error.empty()) return error;
  registry_ = std::make_unique<Registry>(
      endpoints_, families_, bus_,
      [this](std::string_view model, const Worker* first) {
        return policies_->choose(model, first);
      },
      [this] {
        // Publications come by other ways too, with the task still in the list.
        if (!std::exchange(publish_.waits, true)) loops_.control().defer(&publish_);
      });
  registry_->observe(this);
  Loop& control = loops_.control();
  calls_ = std::make_unique<Calls>(control, *registry_);
  desk_ = {.control = &control, .registry = registry_.get(), .calls = calls_.get()};
  if (auto error = create_monitors(); !error.empty()) return error;
  health_checker_ = std::make_unique<HealthChecker>(control, *registry_, families_, config_);
  check_.owner = this;
  check_.fired = check;
  control.set_timer(&check_, control.now() + WorkerLiveness::kCheckInterval);
  control_plane_ = std::make_unique<ControlPlane>(config_.auth, families_);
  registration_ = std::make_unique<Registration>(
      control, *registry_, config_, [this](const WorkerSpec& spec, std::string& problem) {
        return instances_->transport_for(spec, problem);
      });
  plugin_reload_ = std::make_unique<PluginReload>(
      PluginReload::Parts{
          loops_, plugins_, *instances_, *policies_, *registry_, *load_poller_, families_,
          program_directory() / "smg-plugin-check",
          [this](std::span<const smg_plugin* const> anew) { return reload_->read_for(anew); },
          [this] {
            config_.plugin_options = instances_->options().configured;
            config_.label_options = instances_->options().by_label;
            reload_->plugins_changed();
          },
          [this] { health_checker_->probe_soon(); }},
      config_.plugins.watch);
  ConfigReload::Target& target = *this;
  reload_ = std::make_unique<ConfigReload>(control, target, families_, bus_, std::move(source_));
  admin_ =
      std::make_unique<AdminApi>(control, *registry_, *registration_, *load_poller_, *calls_,
                                 *reload_, PluginRoutes(plugins_, *instances_, *plugin_reload_));
  if (config_.routing_key_override.enabled) {
    sticky_ = std::make_unique<StickyKeys>(config_.routing_key_override, families_);
    sticky_->start(control);
  }
  for (const auto& spec : config_.workers) {
    std::string error;
    if (instances_->transport_for(spec, error) == nullptr) return error;
  }
  return {};
}

std::string Gateway::create_monitors() {
  std::vector<MonitorPtr> monitors;
  for (const auto& name : plugins_.names(SMG_KIND_MONITOR)) {
    std::string error;
    auto made = instances_->make_monitor(plugins_.find(SMG_KIND_MONITOR, name),
                                         instances_->options(), error);
    if (made == nullptr) return error;
    instances_->announce(name, "running");
    monitors.push_back(std::move(made));
  }
  load_desk_ = std::make_unique<LoadDesk>(loops_.control(), *registry_, families_, bus_, config_);
  load_poller_ = std::make_unique<LoadPoller>(loops_.control(), *registry_, *load_desk_, config_,
                                              std::move(monitors));
  desk_.loads = load_poller_.get();
  return {};
}

void Gateway::fleet_published() {
  count_capacity();
  instances_->settle(*registry_);
  load_poller_->fleet_changed();
  health_checker_->fleet_changed();
  if (listening_ != nullptr) listening_->refresh_fleet();
}

void Gateway::worker_left(const Worker& worker) {
  load_poller_->evict(worker);
  load_desk_->forget(worker);
}

void Gateway::check(smg_timer* timer) {
  Gateway& self = *static_cast<Timer*>(timer)->owner;
  Loop& control = self.loops_.control();
  for (const auto& worker : self.registry_->snapshot()->workers) {
    worker->runtime()->liveness().check(control.now());
    worker->runtime()->breaker().look(control.now());
  }
  self.count_capacity();
  self.load_desk_->show_ages();
  control.set_timer(timer, control.now() + WorkerLiveness::kCheckInterval);
}

// Nobody looks at the fleet any more; what runs through the transports is cancelled.
void Gateway::end_parts() {
  loops_.control().clear_timer(&check_);
  loops_.control().clear_timer(&admission_tick_);
  if (sticky_ != nullptr) sticky_->stop();
  registry_->observe(nullptr);
  desk_.loads = nullptr;
  admin_.reset();
  reload_.reset();
  plugin_reload_->stop();
  registration_.reset();
  health_checker_.reset();
  load_poller_.reset();
  load_desk_.reset();
  calls_->end_all();
  registry_->remove_all();
}

// What is to be used at once has its smoke test here, as a file that is exchanged later has.
std::string Gateway::try_plugins() const {
  const auto checker = program_directory() / "smg-plugin-check";
  std::error_code ignored;
  if (!std::filesystem::exists(checker, ignored)) {
    spdlog::warn("plugins are not tried before they are used: {} is missing", checker.string());
    return {};
  }
  std::map<std::filesystem::path, const PluginLibrary*> used;
  for (const auto& plugin : plugins_.all()) {
    const auto& models = config_.policy.models;
    const bool chosen = plugin->name() == config_.policy.name ||
                        std::any_of(models.begin(), models.end(), [&](const auto& model) {
                          return model.second == plugin->name();
                        });
    if (plugin->kind() != SMG_KIND_POLICY || chosen) {
      used.emplace(plugin->library->file(), plugin->library.get());
    }
  }
  std::vector<std::future<std::string>> verdicts;
  for (const auto& [file, library] : used) {
    verdicts.push_back(std::async(std::launch::async, [&, tried = library] {
      return smoke_test(tried->staged(), checker, config_.plugin_options);
    }));
  }
  std::string problem;
  for (auto& verdict : verdicts) {
    const std::string found = verdict.get();
    if (problem.empty()) problem = found;
  }
  return problem;
}

std::string Gateway::prepare() {
  std::string error;
  if (!config_.tls.cert_path.empty()) {
    tls_ = ServerTls::make(config_.tls, families_, error);
    if (tls_ == nullptr) return error;
  }
  if (auto problem = try_plugins(); !problem.empty()) return problem;
  loops_.start([](Loop& loop) { Metrics::bind_thread(loop.index()); });
  loops_.run_on(loops_.data_count(), [&] { error = create_parts(); });
  return error;
}

std::string Gateway::add_workers() {
  std::string error;
  loops_.run_on(loops_.data_count(), [&] {
    Registration::Prepared jobs;
    error = registration_->prepare(config_.workers, jobs);
    registration_->submit(jobs);
  });
  return error;
}

// Whoever takes over a port takes over clients with it: better with workers than without.
void Gateway::wait_for_workers() {
  const auto all_ready = [&] {
    bool ready = true;
    loops_.run_on(loops_.data_count(), [&] {
      const auto& present = registry_->snapshot()->workers;
      const auto is_ready = [](const auto& worker) {
        return (worker->state() & SMG_STATE_STATUS_MASK) == SMG_STATUS_READY;
      };
      ready = static_cast<std::size_t>(std::count_if(present.begin(), present.end(), is_ready)) >=
              config_.workers.size();
    });
    return ready;
  };
  const std::atomic<bool> patient{false};
  if (!wait_until(all_ready, Loop::clock() + seconds_to_ns(10), patient)) {
    spdlog::warn("not all workers are ready after 10 s: listening all the same");
  }
}

std::string Gateway::start() {
  if (config_.server.reuse_port) wait_for_workers();
  std::string error;
  metrics_listener_ = MetricsListener::open(metrics_, config_.metrics.host, config_.metrics.port,
                                            config_.server.reuse_port, error);
  if (metrics_listener_ == nullptr) return error;
  access_log_ =
      std::make_unique<AccessLog>(config_.log, loops_.data_count(), families_.access_log_dropped);
  if (error = access_log_->start(); !error.empty()) return error;
  if (tls_ != nullptr) tls_->start();
  listener_ = std::make_unique<Listener>(
      Listener::Parts{loops_, *registry_, families_, bus_, *admin_, *control_plane_, *admission_,
                      tls_.get(), *access_log_, sticky_.get()},
      config_);
  if (error = listener_->open(); !error.empty()) return error;
  if (config_.workers.empty()) {
    spdlog::warn("no workers: name some with --worker-urls or [[worker]]");
  }
  spdlog::info("listening on {}{}:{}, metrics on {}/metrics, {} loops, policy {}",
               tls_ == nullptr ? "" : "https://", config_.server.host, listener_->port(),
               metrics_listener_->address(), loops_.data_count(), config_.policy.name);
  loops_.run_on(loops_.data_count(), [&] {
    listening_ = listener_.get();
    reload_->start();
  });
  return {};
}

void Gateway::shut_down(const std::atomic<bool>& hurry) {
  if (listener_ == nullptr) return;
  std::uint64_t grace = 0;
  bool handing_over = false;
  loops_.run_on(loops_.data_count(), [&] {
    grace = seconds_to_ns(config_.server.shutdown_grace_period_secs);
    handing_over = config_.server.reuse_port;
  });
  const std::uint64_t begun = Loop::clock();
  const std::uint64_t settle = std::min(grace / 2, seconds_to_ns(5));
  // Whoever takes over is scraped from now on.
  if (handing_over) metrics_listener_.reset();
  listener_->announce_draining();
  spdlog::info("draining: {} requests running; {}; a second signal ends at once", listener_->busy(),
               handing_over ? "new connections are left to who else listens"
                            : "no longer ready, new requests are refused");
  wait_until([] { return false; }, begun + settle, hurry);
  listener_->close_idle();
  if (!wait_until([&] { return listener_->busy() == 0; }, begun + grace, hurry)) {
    spdlog::warn("closing {} requests: {}", listener_->busy(),
                 hurry.load() ? "a second signal came" : "they did not end in time");
  }
}

Gateway::~Gateway() {
  if (listener_ != nullptr) {
    loops_.run_on(loops_.data_count(), [&] { listening_ = nullptr; });
    listener_.reset();
    access_log_.reset();
  }
  if (registry_ != nullptr) {
    loops_.run_on(loops_.data_count(), [&] { end_parts(); });
    const std::atomic<bool> patient{false};
    if (!wait_until([&] { return endpoints_.all_closed(); }, Loop::clock() + seconds_to_ns(5),
                    patient)) {
      spdlog::warn("a transport did not let go of all its workers");
    }
  }
  if (instances_ != nullptr) {
    loops_.run_on(loops_.data_count(), [&] {
      registry_.reset();
      policies_.reset();
      instances_->drop_transports();
    });
    // Until they are gone, plugins may use what the desk offers, and their code is needed.
    const std::atomic<bool> patient{false};
    const auto all_gone = [&] {
      return instances_->alive() == 0 && (plugin_reload_ == nullptr || plugin_reload_->idle());
    };
    if (!wait_until(all_gone, Loop::clock() + seconds_to_ns(5), patient)) {
      spdlog::warn("{} plugin instances are still in use", instances_->alive());
    }
    loops_.run_on(loops_.data_count(), [&] {
      desk_ = {};
      calls_.reset();
      plugin_reload_.reset();
    });
  }
  control_plane_.reset();
  metrics_listener_.reset();
  loops_.stop();
  bus_.stop();
}

}  // namespace smg
