#include "host/fleet/startup.hpp"

#include <Poco/UUIDGenerator.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>

#include "host/base/views.hpp"
#include "host/config/duration.hpp"

namespace smg {

struct Startup::Job : std::enable_shared_from_this<Job> {
  Startup* owner = nullptr;  // nullptr: stopped
  std::shared_ptr<Worker> worker;
  std::uint64_t give_up_at = 0;
  std::uint64_t timeout = 0;
  std::string last_failure;
  struct Timer : smg_timer {
    Job* job;
  } timer{};
  // Keeps the job while a probe is under way.
  std::shared_ptr<Job> self;
};

namespace {

Ceilings gateway_ceilings(const Overload& overload) {
  if (!overload.protection) return {};
  return {.waiting_requests = static_cast<std::int64_t>(overload.waiting_requests),
          .token_usage = overload.token_usage};
}

Ceilings own_ceilings(const WorkerOverload& overload) {
  Ceilings ceilings;
  if (overload.waiting_requests) {
    ceilings.waiting_requests = static_cast<std::int64_t>(*overload.waiting_requests);
  }
  ceilings.token_usage = overload.token_usage;
  return ceilings;
}

WorkerRuntime::Settings runtime_settings(const WorkerSpec& spec, const Config& config) {
  const auto& own = spec.resilience;
  const auto& common = config.circuit_breaker;
  WorkerRuntime::Settings settings;
  settings.breaker.failures = own.cb_failure_threshold.value_or(common.failure_threshold);
  if (own.disable_circuit_breaker.value_or(common.disabled)) {
    settings.breaker.failures = std::numeric_limits<std::uint32_t>::max();
  }
  settings.breaker.successes = own.cb_success_threshold.value_or(common.success_threshold);
  settings.breaker.open_for =
      seconds_to_ns(own.cb_timeout_secs.value_or(common.timeout_duration_secs));
  settings.liveness = {.stall = seconds_to_ns(config.liveness.stall_secs),
                       .wedge = seconds_to_ns(config.liveness.wedge_secs),
                       .stale = seconds_to_ns(config.liveness.stale_secs)};
  return settings;
}

}  // namespace

WorkerDescription describe_worker(const WorkerSpec& spec, const Config& config) {
  WorkerDescription description;
  description.id = Poco::UUIDGenerator::defaultGenerator().createRandom().toString();
  description.url = spec.url.text;
  description.base_url = spec.url.text;
  description.scheme = spec.url.scheme;
  description.host = spec.url.host;
  description.base_path = spec.url.base_path;
  description.port = spec.url.port;
  description.priority = spec.priority;
  description.cost = spec.cost;
  description.models = spec.models;
  description.runtime = spec.runtime.empty() ? config.server.backend : spec.runtime;
  description.api_key = spec.api_key;
  for (const auto& [key, value] : spec.labels) description.labels.emplace_back(key, value);
  description.load_monitor_interval_secs = spec.load_monitor_interval_secs;
  description.overload = spec.overload;
  description.ceilings =
      resolve_ceilings(own_ceilings(spec.overload), gateway_ceilings(config.overload));
  description.health = spec.health;
  description.resilience = spec.resilience;
  description.runtime_settings = runtime_settings(spec, config);
  return description;
}

Startup::Startup(Loop& control, Registry& registry, const Config& config)
    : control_(control), registry_(registry), config_(config) {}

Startup::~Startup() {
  stop();
}

void Startup::stop() {
  for (const auto& job : jobs_) {
    control_.clear_timer(&job->timer);
    job->owner = nullptr;
    job->worker.reset();
  }
  jobs_.clear();
}

std::string Startup::begin(const WorkerSpec& spec, const TransportRef& transport) {
  std::string error;
  auto worker = registry_.add(describe_worker(spec, config_), transport, error);
  if (worker == nullptr) return error;
  auto job = std::make_shared<Job>();
  job->owner = this;
  job->worker = std::move(worker);
  job->give_up_at = Loop::clock() + seconds_to_ns(config_.server.worker_startup_timeout_secs);
  job->timeout =
      seconds_to_ns(spec.health.timeout_secs.value_or(config_.health_check.timeout_secs));
  job->timer.fired = retry;
  job->timer.job = job.get();
  jobs_.push_back(job);
  if (config_.server.worker_startup_delay_secs > 0) {
    control_.set_timer(&job->timer,
                       Loop::clock() + seconds_to_ns(config_.server.worker_startup_delay_secs));
  } else {
    probe(*job);
  }
  return {};
}

void Startup::probe(Job& job) {
  job.self = job.shared_from_this();
  const Endpoint& endpoint = *job.worker->endpoint();
  smg_probe probe{};
  probe.struct_size = sizeof probe;
  probe.what = SMG_PROBE_HEALTH | SMG_PROBE_IDENTITY | SMG_PROBE_MODELS;
  probe.flags = SMG_PROBE_ANONYMOUS;
  probe.timeout_ns = job.timeout;
  endpoint.api().probe(endpoint.handle(), &probe, probed, &job);
}

void Startup::retry(smg_timer* timer) {
  Job* job = static_cast<Job::Timer*>(timer)->job;
  job->owner->probe(*job);
}

void Startup::probed(void* context, const smg_probe_result* result) {
  const std::shared_ptr<Job> job = std::move(static_cast<Job*>(context)->self);
  Startup* self = job->owner;
  if (self == nullptr) return;
  if (result->healthy != 0) {
    self->succeed(*job, *result);
    return;
  }
  const std::string failure(text(result->detail));
  const std::uint64_t now = Loop::clock();
  const std::uint64_t interval =
      seconds_to_ns(self->config_.server.worker_startup_check_interval_secs);
  if (now + interval > job->give_up_at) {
    spdlog::error("worker {} did not come up within {} s: {}", job->worker->url(),
                  self->config_.server.worker_startup_timeout_secs, failure);
    self->registry_.set_status(*job->worker, SMG_STATUS_FAILED);
    return;
  }
  if (failure != job->last_failure) {
    spdlog::warn("worker {} is not up yet ({}), next look in {} s", job->worker->url(), failure,
                 interval / 1'000'000'000);
    job->last_failure = failure;
  }
  self->control_.set_timer(&job->timer, now + interval);
}

void Startup::succeed(Job& job, const smg_probe_result& result) {
  WorkerDescription description = job.worker->description();
  if (description.models.empty()) {
    for (std::uint32_t i = 0; i < result.model_count; ++i) {
      description.models.emplace_back(text(result.models[i]));
    }
    // Filed under a name that only requests without a model name ask for.
    if (description.models.empty()) description.models.emplace_back("unknown");
  }
  if (description.runtime.empty()) description.runtime = text(result.runtime);
  for (std::uint32_t i = 0; i < result.label_count; ++i) {
    const std::string key(text(result.labels[i].key));
    const auto same_key = [&](const auto& label) { return label.first == key; };
    // What the configuration says wins over what the worker says of itself.
    if (std::none_of(description.labels.begin(), description.labels.end(), same_key)) {
      description.labels.emplace_back(key, text(result.labels[i].value));
    }
  }
  if (auto fresh = registry_.update(job.worker, std::move(description))) {
    job.worker = std::move(fresh);
  }
  registry_.ready_when_published(job.worker);
  std::string models;
  for (const auto& model : job.worker->description().models) {
    models += (models.empty() ? "" : ", ") + model;
  }
  spdlog::info("worker {} is ready, serving {}", job.worker->url(), models);
}

}  // namespace smg
