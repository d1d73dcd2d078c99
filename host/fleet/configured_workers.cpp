// The workers of the configuration, at the start and when it changes.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "host/fleet/registration.hpp"
#include "host/fleet/registration_job.hpp"

namespace smg {

std::string Registration::prepare(std::span<const WorkerSpec> specs, Prepared& jobs) {
  for (const auto& spec : specs) {
    const std::shared_ptr<Worker> present = registry_.find_url(spec.url.text);
    const auto adding = adding_.find(spec.url.text);
    std::string id = present != nullptr        ? present->description().id
                     : adding != adding_.end() ? adding->second->description.id
                                               : new_id();
    const JobPtr job = make_job(spec, std::move(id));
    if (present != nullptr) {
      job->replaces = present;
      job->interval = std::min(job->interval, Job::kUpdateInterval);
    }
    jobs.push_back(job);
    if (auto error = begin(*job); !error.empty()) {
      drop(jobs);
      return error;
    }
  }
  return {};
}

void Registration::submit(const Prepared& jobs) {
  for (const auto& job : jobs) {
    const std::string& url = job->spec.url.text;
    configured_[url] = job->description.id;
    supersede(job->description.id, job.get());
    if (job->replaces != nullptr) {
      submit(job, JobType::update_worker, {});
    } else {
      adding_[url] = job;
      submit(job, JobType::add_worker, {});
    }
  }
}

void Registration::drop(Prepared& jobs) {
  for (const auto& job : jobs) {
    job->owner = nullptr;
    if (job->candidate && job->replaces == nullptr) registry_.discard(*job->candidate);
    job->candidate.reset();
    jobs_.erase(job);
  }
  jobs.clear();
}

void Registration::remove_configured(std::string_view url) {
  const auto known = configured_.find(url);
  if (known == configured_.end()) return;
  const std::string id = std::move(known->second);
  configured_.erase(known);
  const auto worker = registry_.find_id(id);
  if (worker == nullptr) {
    give_up(id);
  } else if ((worker->state() & SMG_STATE_STATUS_MASK) != SMG_STATUS_DRAINING) {
    supersede(id, nullptr);
    remove(*worker, {});
  }
}

void Registration::supersede(std::string_view id, const Job* by) {
  std::vector<JobPtr> ended;
  for (const auto& job : jobs_) {
    if (job.get() != by && job->description.id == id) ended.push_back(job);
  }
  for (const auto& job : ended) {
    const bool drains = job->timer.fired == settled;
    finish(*job);
    const auto worker = registry_.find_id(id);
    if (!drains || worker == nullptr ||
        (worker->state() & SMG_STATE_STATUS_MASK) != SMG_STATUS_DRAINING) {
      continue;
    }
    spdlog::info("worker {} stays", worker->url());
    registry_.set_status(*worker, SMG_STATUS_READY);
  }
}

}  // namespace smg
