#include "engine_model.hpp"

#include <algorithm>
#include <limits>

namespace smg::sim {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kMaxLateMs = 100;

}  // namespace

EngineModel::EngineModel(const ModelSettings& settings)
    : settings_(settings), cache_(settings.kv_blocks), step_end_(kNever), prefill_end_(kNever) {}

void EngineModel::change(const ModelSettings& settings, double now) {
  advance(now);
  settings_ = settings;
  cache_.set_total(settings.kv_blocks);
  admit();
}

bool EngineModel::submit(Job& job, double now) {
  if (blocks_for(std::uint64_t{job.prompt_tokens} + job.output_tokens) > cache_.total()) {
    return false;
  }
  advance(now);
  job.state_ = Job::State::Waiting;
  waiting_.push_back(&job);
  if (!paused_) admit();
  return true;
}

void EngineModel::cancel(Job& job, double now) {
  if (job.state_ == Job::State::Idle) return;
  now_ = std::max(now_, now);
  if (job.state_ == Job::State::Waiting) {
    std::erase(waiting_, &job);
    job.state_ = Job::State::Idle;
  } else {
    drop(job);
  }
  if (!stepping_ && !paused_) admit();
}

void EngineModel::pause(bool on, double now) {
  if (on == paused_) return;
  if (on) {
    advance(now);
    paused_ = true;
    return;
  }
  paused_ = false;
  now_ = std::max(now_, now);
  if (step_end_ != kNever) step_end_ = std::max(step_end_, now);
  if (prefill_end_ != kNever) prefill_end_ = std::max(prefill_end_, now);
  admit();
}

double EngineModel::next_event() const {
  return paused_ ? kNever : std::min(step_end_, prefill_end_);
}

void EngineModel::advance(double now) {
  // A callback of a step may submit or cancel; the loop that runs the step goes on with it.
  if (stepping_) return;
  if (const double late = now - next_event(); late > kMaxLateMs) {
    now_ += late;
    step_end_ += late;
    prefill_end_ += late;
  }
  while (next_event() <= now) {
    now_ = std::max(now_, next_event());
    if (prefill_end_ <= step_end_) {
      end_prefill();
    } else {
      end_step();
    }
  }
  now_ = std::max(now_, now);
}

void EngineModel::admit() {
  while (admit_one()) {
  }
}

bool EngineModel::admit_one() {
  if (waiting_.empty() || running_.size() >= settings_.max_running) return false;
  Job& job = *waiting_.front();
  const std::uint64_t known = std::uint64_t{job.prompt_tokens} + job.generated_;
  // The last token of a prompt is always computed.
  const std::size_t most =
      job.prompt_tokens == 0 ? 0 : (job.prompt_tokens - 1) / settings_.block_size;
  const std::size_t shared = cache_.match(job.block_hashes, most);
  const std::size_t room = known < std::uint64_t{job.prompt_tokens} + job.output_tokens ? 1 : 0;
  const std::size_t needed = std::max(blocks_for(known + room), shared) - shared;
  if (needed + cache_.unpinned(job.block_hashes, shared) > cache_.available()) return false;
  waiting_.pop_front();
  cache_.pin(job.block_hashes, shared);
  cache_.take(needed);
  job.shared_blocks_ = shared;
  job.private_blocks_ = needed;
  job.cached_tokens = static_cast<std::uint32_t>(shared * settings_.block_size);
  queried_tokens_ += job.prompt_tokens;
  hit_tokens_ += job.cached_tokens;
  job.prefill_left_ = static_cast<double>(known - job.cached_tokens);
  job.state_ = Job::State::Prefill;
  running_.push_back(&job);
  prefilling_.push_back(&job);
  if (prefilling_.size() == 1) start_prefill();
  return true;
}

void EngineModel::start_prefill() {
  if (prefilling_.empty()) {
    prefill_end_ = kNever;
  } else {
    const double rate = settings_.prefill_rate / 1e3;
    prefill_end_ = rate > 0 ? now_ + prefilling_.front()->prefill_left_ / rate : now_;
  }
}

void EngineModel::end_prefill() {
  Job& job = *prefilling_.front();
  prefilling_.pop_front();
  job.state_ = Job::State::Decode;
  // What has been computed can be shared from now on, unless another job was first.
  while (job.shared_blocks_ < job.block_hashes.size() && job.private_blocks_ > 0 &&
         cache_.share(job.block_hashes[job.shared_blocks_])) {
    ++job.shared_blocks_;
    --job.private_blocks_;
  }
  start_prefill();
  // Between steps the first token comes at once, else with those of the running step.
  if (step_end_ == kNever) end_step();
}

void EngineModel::end_step() {
  stepping_ = true;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Job* job = running_[i];
    if (job == nullptr || job->state_ != Job::State::Decode) continue;
    if (job->generated_ < job->output_tokens) {
      if (!grow(*job)) continue;
      ++generated_tokens_;
      job->token(job->generated_++);
      if (running_[i] == nullptr) continue;  // cancelled by its own callback
    }
    if (job->generated_ >= job->output_tokens) {
      release(*job);
      running_[i] = nullptr;
      job->finished();
    }
  }
  compact();
  stepping_ = false;
  admit();
  start_step();
}

void EngineModel::start_step() {
  const auto decoding = std::count_if(running_.begin(), running_.end(), [](const Job* job) {
    return job->state_ == Job::State::Decode;
  });
  if (decoding == 0) {
    step_end_ = kNever;
  } else {
    step_end_ = now_ + settings_.decode_ms *
                           (1 + settings_.decode_growth * static_cast<double>(decoding - 1));
  }
}

bool EngineModel::grow(Job& job) {
  const std::size_t held = job.shared_blocks_ + job.private_blocks_;
  const std::size_t needed = blocks_for(std::uint64_t{job.prompt_tokens} + job.generated_ + 1);
  if (needed <= held) return true;
  while (cache_.available() < needed - held) {
    const auto youngest = std::find_if(running_.rbegin(), running_.rend(),
                                       [](const Job* other) { return other != nullptr; });
    Job& victim = **youngest;
    preempt(victim);
    if (&victim == &job) return false;
  }
  cache_.take(needed - held);
  job.private_blocks_ += needed - held;
  return true;
}

void EngineModel::preempt(Job& job) {
  ++preemptions_;
  drop(job);
  job.state_ = Job::State::Waiting;
  waiting_.push_front(&job);
}

void EngineModel::release(Job& job) {
  cache_.unpin(job.block_hashes, job.shared_blocks_);
  cache_.give(job.private_blocks_);
  job.shared_blocks_ = 0;
  job.private_blocks_ = 0;
  job.state_ = Job::State::Idle;
}

void EngineModel::drop(Job& job) {
  const bool first = !prefilling_.empty() && prefilling_.front() == &job;
  std::erase(prefilling_, &job);
  if (first) start_prefill();
  release(job);
  std::replace(running_.begin(), running_.end(), &job, static_cast<Job*>(nullptr));
  if (stepping_) return;
  compact();
  const bool decoding = std::any_of(running_.begin(), running_.end(), [](const Job* other) {
    return other->state_ == Job::State::Decode;
  });
  if (!decoding) step_end_ = kNever;
}

void EngineModel::compact() {
  std::erase(running_, nullptr);
}

std::uint64_t EngineModel::waiting_uncached_tokens() const {
  std::uint64_t tokens = 0;
  for (const Job* job : waiting_) {
    const std::size_t cached = cache_.match(job->block_hashes, job->block_hashes.size());
    tokens += job->prompt_tokens -
              std::min<std::uint64_t>(job->prompt_tokens, cached * settings_.block_size);
  }
  return tokens;
}

double EngineModel::token_usage() const {
  return static_cast<double>(cache_.used()) / static_cast<double>(cache_.total());
}

double EngineModel::hit_rate() const {
  if (queried_tokens_ == 0) return 0;
  return static_cast<double>(hit_tokens_) / static_cast<double>(queried_tokens_);
}

}  // namespace smg::sim
