#include "host/fleet/registration.hpp"

#include <Poco/UUIDGenerator.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "host/base/views.hpp"
#include "host/config/duration.hpp"
#include "host/config/worker_url.hpp"
#include "host/fleet/describe_worker.hpp"
#include "host/fleet/probes.hpp"
#include "host/fleet/registration_job.hpp"
#include "host/metrics/utf8.hpp"

namespace smg {
namespace {

constexpr std::uint64_t kUpdateLimit = 30'000'000'000;
// A look that hangs ends that long after the time that a worker has to come up.
constexpr std::uint64_t kGrace = 30'000'000'000;
constexpr std::uint64_t kLongestLook = 30'000'000'000;
constexpr std::size_t kNamedModels = 8;

std::string listed(const std::vector<ModelCard>& models) {
  std::string names;
  for (std::size_t i = 0; i < models.size() && i < kNamedModels; ++i) {
    names += (i == 0 ? "" : ", ") + valid_utf8(models[i].id, 128);
  }
  if (models.size() > kNamedModels) {
    names += fmt::format(" and {} more", models.size() - kNamedModels);
  }
  return names;
}

}  // namespace

Registration::Registration(Loop& control, Registry& registry, const Config& config,
                           TransportFor transport_for)
    : control_(control),
      registry_(registry),
      config_(config),
      transport_for_(std::move(transport_for)),
      table_(control, config.server.job_queue_capacity, config.server.job_queue_concurrency) {}

Registration::~Registration() {
  for (const auto& job : jobs_) {
    control_.clear_timer(&job->timer);
    control_.clear_timer(&job->limit);
    job->owner = nullptr;
    job->candidate.reset();
    job->replaces.reset();
  }
}

std::string Registration::new_id() {
  return Poco::UUIDGenerator::defaultGenerator().createRandom().toString();
}

Registration::JobPtr Registration::make_job(const WorkerSpec& spec, std::string id) {
  auto job = std::make_shared<Job>();
  job->owner = this;
  job->spec = spec;
  job->description = describe_worker(spec, std::move(id), config_);
  job->interval = seconds_to_ns(config_.server.worker_startup_check_interval_secs);
  const std::uint64_t timeout = spec.health.timeout_secs.value_or(0);
  job->timeout = std::min(seconds_to_ns(timeout == 0 ? config_.health_check.timeout_secs : timeout),
                          kLongestLook);
  job->timer.job = job.get();
  job->timer.fired = look_again;
  job->limit.job = job.get();
  job->limit.fired = out_of_time;
  jobs_.insert(job);
  return job;
}

std::string Registration::unknown_scheme(const WorkerSpec& spec) const {
  std::string error;
  if (is_common_scheme(spec.url.scheme) || transport_for_(spec, error) != nullptr) return {};
  return error;
}

std::string Registration::add(const WorkerSpec& spec, Queued queued) {
  if (spec.api_key.empty() && !config_.auth.api_key.empty()) {
    spdlog::warn(
        "worker {} is added without an api_key: the gateway's own goes to configured workers only",
        spec.url.text);
  }
  std::string id;
  const auto running = adding_.find(spec.url.text);
  // A specification that can never be registered ends no job that may succeed.
  const bool hopeless = running != adding_.end() && !refusal(spec).empty();
  if (running != adding_.end()) {
    id = running->second->description.id;
    if (!hopeless) finish(*running->second);
  } else {
    id = new_id();
  }
  const JobPtr job = make_job(spec, id);
  if (!hopeless) adding_[spec.url.text] = job;
  submit(job, JobType::add_worker, std::move(queued));
  return id;
}

void Registration::replace(const std::shared_ptr<Worker>& worker, const WorkerSpec& spec,
                           Queued queued) {
  const JobPtr job = make_job(spec, worker->description().id);
  job->replaces = worker;
  job->interval = std::min(job->interval, Job::kUpdateInterval);
  submit(job, JobType::update_worker, std::move(queued));
}

void Registration::submit(const JobPtr& job, JobType type, Queued queued) {
  const auto turn = [this, job] {
    const bool is_update = job->replaces != nullptr;
    const std::uint64_t patience =
        is_update ? kUpdateLimit : seconds_to_ns(config_.server.worker_startup_timeout_secs);
    const std::uint64_t delay =
        is_update ? 0 : seconds_to_ns(config_.server.worker_startup_delay_secs);
    job->give_up_at = control_.now() + delay + patience;
    control_.set_timer(&job->limit, job->give_up_at + (is_update ? 0 : kGrace));
    if (!job->candidate) {
      if (auto error = begin(*job); !error.empty()) return finish(*job, std::move(error));
    }
    if (delay == 0) return look(*job);
    table_.step_aside(job->number);
    control_.set_timer(&job->timer, control_.now() + delay);
  };
  // The number is known before the turn comes: submit() may run it.
  auto& number = job->number;
  table_.submit(type, job->description.id, job->spec.url.text, turn, std::move(queued), number);
}

// Opens an endpoint. A sentence if that can never be.
std::string Registration::begin(Job& job) {
  if (auto refused = refusal(job.spec); !refused.empty()) return refused;
  std::string error;
  const TransportPtr transport = transport_for_(job.spec, error);
  if (transport == nullptr) return error;
  job.candidate = job.replaces != nullptr
                      ? registry_.reopen(*job.replaces, job.description, transport, error)
                      : registry_.open(job.description, transport, error);
  return job.candidate ? std::string() : error;
}

void Registration::look(Job& job) {
  // Since the last look the transport may have been exchanged, for this very worker's sake perhaps.
  std::string problem;
  const TransportPtr now = transport_for_(job.spec, problem);
  if (now != nullptr && now != job.candidate->endpoint->transport() &&
      !registry_.renew(*job.candidate, job.description, now, problem)) {
    spdlog::warn("worker {}: {}", job.spec.url.text, problem);
  }
  smg_probe probe{};
  probe.struct_size = sizeof probe;
  probe.what = SMG_PROBE_HEALTH | SMG_PROBE_IDENTITY | SMG_PROBE_MODELS;
  probe.flags = SMG_PROBE_ANONYMOUS;
  probe.timeout_ns = job.timeout;
  start_probe(
      *job.candidate->endpoint, probe,
      [job = job.shared_from_this()](const smg_probe_result& result) { looked(job, result); });
}

void Registration::look_again(smg_timer* timer) {
  Job& job = *static_cast<Job::Timer*>(timer)->job;
  job.owner->table_.come_back(job.number, [job = job.shared_from_this()] {
    if (job->owner != nullptr) job->owner->look(*job);
  });
}

void Registration::looked(const JobPtr& job, const smg_probe_result& result) {
  if (job->owner == nullptr) return;
  if (result.healthy != 0) {
    job->owner->succeed(*job, result);
  } else {
    job->owner->not_up(*job, text(result.detail));
  }
}

void Registration::out_of_time(smg_timer* timer) {
  Job& job = *static_cast<Job::Timer*>(timer)->job;
  const std::string last = job.last_failure.empty() ? "no answer" : job.last_failure;
  job.owner->finish(job,
                    fmt::format("worker {} did not come up in time: {}", job.spec.url.text, last));
}

void Registration::not_up(Job& job, std::string_view failure) {
  const std::uint64_t now = Loop::clock();
  if (now + job.interval > job.give_up_at) {
    return finish(job,
                  fmt::format("worker {} did not come up in time: {}", job.spec.url.text, failure));
  }
  if (failure != job.last_failure) {
    spdlog::warn("worker {} is not up yet ({}), next look in {} s", job.spec.url.text, failure,
                 job.interval / 1'000'000'000);
    job.last_failure = failure;
  }
  table_.step_aside(job.number);
  control_.set_timer(&job.timer, now + job.interval);
}

void Registration::succeed(Job& job, const smg_probe_result& found) {
  add_findings(job.description, found, config_);
  const auto settings = runtime_settings_of(job.description, config_);
  std::shared_ptr<Worker> worker;
  if (job.replaces == nullptr) {
    worker = registry_.add(*std::exchange(job.candidate, {}), job.description);
    if (worker == nullptr)
      return finish(job, "worker " + job.spec.url.text + " is registered already");
  } else {
    const bool leaves = (job.replaces->state() & SMG_STATE_STATUS_MASK) == SMG_STATUS_DRAINING;
    if (!leaves) {
      worker = registry_.replace(job.replaces, job.description, std::exchange(job.candidate, {}));
    }
    if (worker == nullptr) {
      return finish(job, "worker " + job.spec.url.text +
                             " was changed or removed while the update was under way");
    }
    worker->runtime()->start_afresh(control_.now());
  }
  worker->runtime()->configure(settings, control_.now());
  registry_.ready_when_published(worker);
  spdlog::info("worker {} is ready, serving {}", worker->url(),
               listed(worker->description().models));
  finish(job);
}

void Registration::patch(const Worker& worker, WorkerPatch patch, Queued queued) {
  const std::string id = worker.description().id;
  auto number = std::make_shared<std::uint64_t>(0);
  table_.submit(
      JobType::update_worker, id, worker.url(),
      [this, id, patch = std::move(patch), number] { apply(id, patch, *number); },
      std::move(queued), *number);
}

void Registration::apply(const std::string& id, const WorkerPatch& patch, std::uint64_t number) {
  const std::shared_ptr<Worker> worker = registry_.find_id(id);
  if (worker == nullptr) return table_.end(number, "the worker was removed meanwhile");
  WorkerDescription description = worker->description();
  description.priority = patch.priority.value_or(description.priority);
  description.cost = patch.cost.value_or(description.cost);
  for (const auto& [key, value] : patch.labels) {
    const auto place = std::find_if(description.labels.begin(), description.labels.end(),
                                    [&key = key](const auto& label) { return label.first == key; });
    if (place == description.labels.end()) {
      description.labels.emplace_back(key, value);
    } else {
      place->second = value;
    }
  }
  const auto take = [](auto& to, const auto& from) {
    if (from) to = from;
  };
  WorkerHealth& health = description.health;
  take(health.timeout_secs, patch.health.timeout_secs);
  take(health.check_interval_secs, patch.health.check_interval_secs);
  take(health.success_threshold, patch.health.success_threshold);
  take(health.failure_threshold, patch.health.failure_threshold);
  take(health.disable_health_check, patch.health.disable_health_check);
  take(health.drain_settle_secs, patch.health.drain_settle_secs);
  std::optional<Candidate> candidate;
  if (patch.api_key && *patch.api_key != description.api_key) {
    // The transport was shown the old key.
    description.api_key = *patch.api_key;
    std::string error;
    candidate = registry_.reopen(*worker, description, worker->endpoint()->transport(), error);
    if (!candidate) return table_.end(number, error);
  }
  const auto fresh = registry_.replace(worker, std::move(description), std::move(candidate));
  const bool unchecked = fresh->description().health.disable_health_check.value_or(
      config_.health_check.disable_health_check);
  if (unchecked && (fresh->state() & SMG_STATE_STATUS_MASK) != SMG_STATUS_DRAINING) {
    registry_.set_status(*fresh, SMG_STATUS_READY);
  }
  table_.end(number);
}

void Registration::remove(const Worker& worker, Queued queued) {
  WorkerSpec spec;
  spec.url.text = worker.url();
  const JobPtr job = make_job(spec, worker.description().id);
  job->timer.fired = settled;
  table_.submit(
      JobType::remove_worker, job->description.id, worker.url(), [this, job] { drain(*job); },
      std::move(queued), job->number);
}

void Registration::drain(Job& job) {
  const std::shared_ptr<Worker> worker = registry_.find_id(job.description.id);
  if (worker == nullptr) return finish(job, "the worker is gone already");
  const std::uint64_t settle = worker->description().health.drain_settle_secs.value_or(
      config_.health_check.drain_settle_secs);
  if ((worker->state() & SMG_STATE_STATUS_MASK) != SMG_STATUS_READY || settle == 0) {
    return settled(&job.timer);
  }
  spdlog::info("worker {} drains, and leaves in {} s", worker->url(), settle);
  registry_.set_status(*worker, SMG_STATUS_DRAINING);
  table_.step_aside(job.number);
  control_.set_timer(&job.timer, control_.now() + seconds_to_ns(settle));
}

void Registration::settled(smg_timer* timer) {
  const JobPtr job = static_cast<Job::Timer*>(timer)->job->shared_from_this();
  Registration& self = *job->owner;
  // Whatever the worker has become meanwhile: a change does not keep it.
  if (const auto worker = self.registry_.find_id(job->description.id)) {
    self.registry_.remove(worker);
    spdlog::info("worker {} is removed", worker->url());
  }
  self.finish(*job);
}

bool Registration::give_up(std::string_view id) {
  const auto found = std::find_if(adding_.begin(), adding_.end(), [&](const auto& item) {
    return item.second->description.id == id;
  });
  if (found == adding_.end()) return false;
  finish(*found->second);
  return true;
}

void Registration::finish(Job& job, std::string failure) {
  const JobPtr keep = job.shared_from_this();
  if (!failure.empty()) spdlog::error("{}", failure);
  control_.clear_timer(&job.timer);
  control_.clear_timer(&job.limit);
  job.owner = nullptr;
  if (job.candidate && job.replaces == nullptr) registry_.discard(*job.candidate);
  job.candidate.reset();
  job.replaces.reset();
  if (const auto adding = adding_.find(job.spec.url.text);
      adding != adding_.end() && adding->second == keep) {
    adding_.erase(adding);
  }
  jobs_.erase(keep);
  table_.end(job.number, std::move(failure));
}

}  // namespace smg
