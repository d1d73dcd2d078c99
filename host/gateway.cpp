#include "host/gateway.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "host/base/views.hpp"
#include "host/config/duration.hpp"
#include "host/fleet/stream_table.hpp"
#include "host/loop/loop_service.hpp"

namespace smg {
namespace {

MetricsOptions metrics_options(const Config& config, std::uint32_t loops) {
  MetricsOptions options;
  options.loops = loops;
  options.duration_bounds = config.metrics.duration_buckets;
  return options;
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

Gateway::Gateway(Config config, const PluginRegistry& plugins)
    : config_(std::move(config)),
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

void Gateway::announce_plugin(const PluginInstance& instance, std::string_view state) {
  smg_event_change event{};
  event.event.struct_size = sizeof event;
  event.event.type = SMG_EVENT_PLUGIN_STATE;
  event.subject = view(instance.plugin().name());
  event.text = view(state);
  bus_.publish(event.event);
}

std::shared_ptr<const PolicyRef> Gateway::make_policy(std::string_view name,
                                                      PolicyChoice::Options which,
                                                      std::string& error) {
  struct Running : smg_task {
    Loop* control;
    std::unique_ptr<PluginInstance> instance;
    PolicyRef ref;
  };
  const auto plugin = plugins_.find(SMG_KIND_POLICY, name);
  if (plugin == nullptr) {
    error = "no plugin offers the policy '" + std::string(name) + "'";
    return nullptr;
  }
  const auto& tables =
      which == PolicyChoice::Options::configured ? config_.plugin_options : config_.label_options;
  const auto options = tables.find({SMG_KIND_POLICY, std::string(name)});
  auto instance = PluginInstance::create(
      plugin, services(), options == tables.end() ? PluginOptions{} : options->second, nullptr,
      error);
  if (instance == nullptr) return nullptr;
  announce_plugin(*instance, "running");
  const std::shared_ptr<Running> running(new Running{}, [](Running* last) {
    last->run = [](smg_task* task) { delete static_cast<Running*>(task); };
    // Later, whoever lets go: it may happen inside a call of this very instance.
    last->control->post(last);
  });
  running->control = &loops_.control();
  running->ref.api = &instance->policy();
  running->ref.self = instance->self();
  running->ref.name = name;
  running->ref.needs = instance->policy().needs;
  running->ref.faults = &instance->faults();
  running->instance = std::move(instance);
  return {running, &running->ref};
}

const TransportRef* Gateway::transport_for(const WorkerSpec& spec, std::string& error) {
  for (const auto& name : plugins_.names(SMG_KIND_TRANSPORT)) {
    const auto plugin = plugins_.find(SMG_KIND_TRANSPORT, name);
    const smg_transport_api& api = plugin->transport();
    const auto offers = [](const smg_view* list, std::uint32_t count, std::string_view wanted) {
      return std::any_of(list, list + count, [&](smg_view item) { return text(item) == wanted; });
    };
    if (!offers(api.schemes, api.scheme_count, spec.url.scheme)) continue;
    if (api.runtime_count > 0 && !offers(api.runtimes, api.runtime_count, spec.runtime)) continue;
    if (const auto present = transports_.find(name); present != transports_.end()) {
      return &present->second.ref;
    }
    const auto options = config_.plugin_options.find({SMG_KIND_TRANSPORT, name});
    auto instance = PluginInstance::create(
        plugin, services(),
        options == config_.plugin_options.end() ? PluginOptions{} : options->second,
        &StreamTable::sink(), error);
    if (instance == nullptr) return nullptr;
    announce_plugin(*instance, "running");
    TransportEntry& entry = transports_[name];
    entry.ref.api = &instance->transport();
    entry.ref.self = instance->self();
    entry.ref.name = name;
    entry.ref.faults = &instance->faults();
    entry.instance = std::move(instance);
    return &entry.ref;
  }
  error = "worker " + spec.url.text + ": no plugin offers a transport for the scheme '" +
          spec.url.scheme + "'";
  return nullptr;
}

std::string Gateway::create_parts() {
  policies_ = std::make_unique<PolicyChoice>(
      config_.policy, plugins_.names(SMG_KIND_POLICY),
      [this](std::string_view name, PolicyChoice::Options which, std::string& problem) {
        return make_policy(name, which, problem);
      });
  if (auto error = policies_->prepare(); !error.empty()) return error;
  registry_ = std::make_unique<Registry>(
      endpoints_, families_, bus_,
      [this](std::string_view model, const Worker* first) {
        return policies_->choose(model, first);
      },
      [this] { loops_.control().defer(&publish_); });
  registry_->observe(this);
  Loop& control = loops_.control();
  calls_ = std::make_unique<Calls>(control, *registry_);
  desk_ = {.control = &control, .registry = registry_.get(), .calls = calls_.get()};
  if (auto error = create_monitors(); !error.empty()) return error;
  health_checker_ = std::make_unique<HealthChecker>(control, *registry_, families_, config_);
  check_.owner = this;
  check_.fired = check;
  control.set_timer(&check_, control.now() + WorkerLiveness::kCheckInterval);
  registration_ = std::make_unique<Registration>(
      control, *registry_, config_, [this](const WorkerSpec& spec, std::string& problem) {
        return transport_for(spec, problem);
      });
  admin_ = std::make_unique<AdminApi>(control, *registry_, *registration_, *load_poller_, *calls_);
  if (config_.routing_key_override.enabled) {
    sticky_ = std::make_unique<StickyKeys>(config_.routing_key_override, families_);
    sticky_->start(control);
  }
  for (const auto& spec : config_.workers) {
    std::string error;
    if (transport_for(spec, error) == nullptr) return error;
  }
  return {};
}

std::string Gateway::create_monitors() {
  std::vector<MonitorRef> refs;
  for (const auto& name : plugins_.names(SMG_KIND_MONITOR)) {
    std::string error;
    const auto options = config_.plugin_options.find({SMG_KIND_MONITOR, name});
    auto instance = PluginInstance::create(
        plugins_.find(SMG_KIND_MONITOR, name), services(),
        options == config_.plugin_options.end() ? PluginOptions{} : options->second, nullptr,
        error);
    if (instance == nullptr) return error;
    announce_plugin(*instance, "running");
    refs.push_back({&instance->monitor(), instance->self(), name, &instance->faults()});
    monitors_.push_back(std::move(instance));
  }
  load_desk_ = std::make_unique<LoadDesk>(loops_.control(), *registry_, families_, bus_);
  load_poller_ = std::make_unique<LoadPoller>(loops_.control(), *registry_, *load_desk_, config_,
                                              std::move(refs));
  desk_.loads = load_poller_.get();
  return {};
}

void Gateway::fleet_published() {
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
  self.load_desk_->show_ages();
  control.set_timer(timer, control.now() + WorkerLiveness::kCheckInterval);
}

// Nobody looks at the fleet any more; what runs through the transports is cancelled.
void Gateway::end_parts() {
  loops_.control().clear_timer(&check_);
  if (sticky_ != nullptr) sticky_->stop();
  registry_->observe(nullptr);
  desk_.loads = nullptr;
  admin_.reset();
  registration_.reset();
  health_checker_.reset();
  load_poller_.reset();
  load_desk_.reset();
  calls_->end_all();
  registry_->remove_all();
}

std::string Gateway::prepare() {
  std::string error;
  loops_.start([](Loop& loop) { Metrics::bind_thread(loop.index()); });
  loops_.run_on(loops_.data_count(), [&] { error = create_parts(); });
  return error;
}

std::string Gateway::add_workers() {
  std::string error;
  loops_.run_on(loops_.data_count(), [&] {
    for (const auto& spec : config_.workers) {
      error = registration_->add_configured(spec);
      if (!error.empty()) return;
    }
  });
  return error;
}

std::string Gateway::start() {
  std::string error;
  metrics_listener_ =
      MetricsListener::open(metrics_, config_.metrics.host, config_.metrics.port, error);
  if (metrics_listener_ == nullptr) return error;
  listener_ = std::make_unique<Listener>(loops_, *registry_, families_, bus_, *admin_,
                                         sticky_.get(), config_);
  if (error = listener_->open(); !error.empty()) return error;
  loops_.run_on(loops_.data_count(), [&] { listening_ = listener_.get(); });
  smg_event_change event{};
  event.event.struct_size = sizeof event;
  event.event.type = SMG_EVENT_CONFIG_APPLIED;
  event.after = 1;
  bus_.publish(event.event);
  if (config_.workers.empty()) {
    spdlog::warn("no workers: name some with --worker-urls or [[worker]]");
  }
  spdlog::info("listening on {}:{}, metrics on {}/metrics, {} loops, policy {}",
               config_.server.host, listener_->port(), metrics_listener_->address(),
               loops_.data_count(), config_.policy.name);
  return {};
}

void Gateway::shut_down(const std::atomic<bool>& hurry) {
  if (listener_ == nullptr) return;
  const std::uint64_t grace = seconds_to_ns(config_.server.shutdown_grace_period_secs);
  const std::uint64_t begun = Loop::clock();
  const std::uint64_t settle = std::min(grace / 2, seconds_to_ns(5));
  spdlog::info(
      "draining: {} requests running; no longer ready, accepting for {:.1f} s more so that load "
      "balancers notice; a second signal ends at once",
      listener_->busy(), static_cast<double>(settle) / 1e9);
  listener_->announce_draining();
  wait_until([] { return false; }, begun + settle, hurry);
  listener_->stop_accepting();
  if (!wait_until([&] { return listener_->busy() == 0; }, begun + grace, hurry)) {
    spdlog::warn("closing {} requests that did not end in time", listener_->busy());
  }
}

Gateway::~Gateway() {
  if (listener_ != nullptr) {
    loops_.run_on(loops_.data_count(), [&] { listening_ = nullptr; });
    listener_.reset();
  }
  if (registry_ != nullptr) {
    loops_.run_on(loops_.data_count(), [&] { end_parts(); });
    const std::atomic<bool> patient{false};
    if (!wait_until([&] { return endpoints_.all_closed(); }, Loop::clock() + seconds_to_ns(5),
                    patient)) {
      spdlog::warn("a transport did not let go of all its workers");
    }
  }
  if (policies_ != nullptr) {
    loops_.run_on(loops_.data_count(), [&] {
      // Plugins first: until they are gone they may use what the desk offers.
      monitors_.clear();
      transports_.clear();
      desk_ = {};
      calls_.reset();
      registry_.reset();
      policies_.reset();
    });
  }
  metrics_listener_.reset();
  loops_.stop();
  bus_.stop();
}

}  // namespace smg
