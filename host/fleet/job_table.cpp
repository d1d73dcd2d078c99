#include "host/fleet/job_table.hpp"

#include <ctime>
#include <utility>

namespace smg {

std::string_view name_of(JobType type) {
  static constexpr std::string_view kNames[] = {"AddWorker", "UpdateWorker", "RemoveWorker"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string_view name_of(JobStatus status) {
  static constexpr std::string_view kNames[] = {"pending", "processing", "failed"};
  return kNames[static_cast<std::size_t>(status)];
}

JobTable::JobTable(Loop& control, std::uint32_t capacity, std::uint32_t concurrency)
    : control_(control), capacity_(capacity), concurrency_(concurrency) {
  sweep_.owner = this;
  sweep_.fired = sweep;
  control_.set_timer(&sweep_, control_.now() + kSweepInterval);
}

JobTable::~JobTable() {
  control_.clear_timer(&sweep_);
}

void JobTable::submit(JobType type, std::string worker_id, std::string worker_url, Step turn,
                      Step queued, std::uint64_t& number) {
  const std::uint64_t job = number = next_job_++;
  Entry& entry = entries_[job];
  entry.record.type = type;
  entry.record.worker_url = std::move(worker_url);
  entry.worker_id = std::move(worker_id);
  entry.turn = std::move(turn);
  entry.queued = std::move(queued);
  set_status(entry, JobStatus::pending);
  last_[entry.worker_id] = job;
  outside_.push_back(job);
  go_on();
}

void JobTable::step_aside(std::uint64_t job) {
  const auto found = entries_.find(job);
  if (found == entries_.end() || !std::exchange(found->second.running, false)) return;
  --running_;
  go_on();
}

void JobTable::come_back(std::uint64_t job, Step turn) {
  const auto found = entries_.find(job);
  if (found == entries_.end()) return;
  found->second.turn = std::move(turn);
  queue_.push_back(job);
  go_on();
}

void JobTable::end(std::uint64_t job, std::string failure) {
  const auto found = entries_.find(job);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  if (std::exchange(entry.running, false)) --running_;
  entry.turn = nullptr;
  // Who waits for a place is told all the same: the job was taken, and has ended.
  const Step queued = std::exchange(entry.queued, nullptr);
  const auto last = last_.find(entry.worker_id);
  const bool is_last = last != last_.end() && last->second == job;
  if (failure.empty() || !is_last) {
    if (is_last) last_.erase(last);
    entries_.erase(found);
  } else {
    entry.record.message = std::move(failure);
    entry.failed_at = control_.now();
    set_status(entry, JobStatus::failed);
  }
  if (queued) queued();
  go_on();
}

const JobRecord* JobTable::find(std::string_view worker_id) const {
  const auto last = last_.find(std::string(worker_id));
  return last == last_.end() ? nullptr : &entries_.at(last->second).record;
}

void JobTable::set_status(Entry& entry, JobStatus status) {
  entry.record.status = status;
  entry.record.timestamp = std::time(nullptr);
}

// A step may submit and end jobs: the loop that is under way goes on with those.
void JobTable::go_on() {
  if (std::exchange(going_on_, true)) return;
  for (;;) {
    if (running_ < concurrency_ && !queue_.empty()) {
      const std::uint64_t job = queue_.front();
      queue_.pop_front();
      const auto found = entries_.find(job);
      if (found == entries_.end() || found->second.turn == nullptr) continue;
      ++running_;
      found->second.running = true;
      set_status(found->second, JobStatus::processing);
      std::exchange(found->second.turn, nullptr)();
    } else if (queue_.size() < capacity_ && !outside_.empty()) {
      const std::uint64_t job = outside_.front();
      outside_.pop_front();
      const auto found = entries_.find(job);
      if (found == entries_.end()) continue;
      queue_.push_back(job);
      if (const Step queued = std::exchange(found->second.queued, nullptr)) queued();
    } else {
      break;
    }
  }
  going_on_ = false;
}

void JobTable::sweep(smg_timer* timer) {
  JobTable& self = *static_cast<Timer*>(timer)->owner;
  const std::uint64_t now = self.control_.now();
  std::erase_if(self.entries_, [&](const auto& item) {
    const Entry& entry = item.second;
    if (entry.failed_at == 0 || now - entry.failed_at < kKeepFailed) return false;
    const auto last = self.last_.find(entry.worker_id);
    if (last != self.last_.end() && last->second == item.first) self.last_.erase(last);
    return true;
  });
  self.control_.set_timer(timer, now + kSweepInterval);
}

}  // namespace smg
