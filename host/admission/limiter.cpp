#include "host/admission/limiter.hpp"

#include <algorithm>
#include <utility>

#include "host/config/duration.hpp"

namespace smg {
namespace {

constexpr AdmissionRefusal kFull{
    429, "admission_queue_full",
    "The gateway is at its limit of concurrent requests; try again later", 2};
constexpr AdmissionRefusal kTimeout{503, "admission_queue_timeout",
                                    "No room became free in time; try again later", 2};

}  // namespace

Limiter::Limiter(const AdmissionConfig& config, Families& families, std::function<void()> wake)
    : bucket_(0, 0),
      wake_(std::move(wake)),
      allowed_(families.http_rate_limit.with({"allowed"})),
      rejected_(families.http_rate_limit.with({"rejected"})),
      full_(families.admission_queue_rejected.with({"full"})),
      timeout_(families.admission_queue_rejected.with({"timeout"})),
      depth_shown_(families.admission_queue_depth),
      inflight_shown_(families.admission_inflight) {
  take_over(config);
}

void Limiter::take_over(const AdmissionConfig& config) {
  off_.store(config.max_concurrent_requests <= 0, std::memory_order_relaxed);
  const auto capacity = std::max<std::int64_t>(0, config.max_concurrent_requests);
  bucket_.resize(static_cast<std::uint64_t>(capacity),
                 config.rate_limit_tokens_per_second.value_or(0));
  queue_size_ = config.queue_size;
  queue_timeout_ = seconds_to_ns(config.queue_timeout_secs);
}

Admission::Answer Limiter::enter(AdmissionTicket& ticket, const AdmissionRequest& request,
                                 AdmissionRefusal& refusal) {
  if (off_.load(std::memory_order_relaxed)) return Answer::admitted;
  bool wake = false;
  {
    Posts posts;
    const std::lock_guard lock(mutex_);
    ticket.admission_ = this;
    serve(request.now, posts);
    if (queue_.empty() && bucket_.take()) {
      ticket.state_ = AdmissionTicket::State::running;
      inflight_shown_.add();
      told(ticket);
      return Answer::admitted;
    }
    if (depth_ >= queue_size_) {
      rejected_.add();
      if (queue_size_ > 0) full_.add();
      refusal = kFull;
      return Answer::refused;
    }
    wake = queue_.empty() && bucket_.refills();
    ticket.state_ = AdmissionTicket::State::waiting;
    ticket.deadline_ = request.now + queue_timeout_;
    queue_.push_back(ticket);
    ++depth_;
    depth_shown_.add();
  }
  if (wake && wake_) wake_();
  return Answer::waiting;
}

void Limiter::serve(std::uint64_t now, Posts& posts) {
  bucket_.refill(now);
  while (!queue_.empty()) {
    if (off_.load(std::memory_order_relaxed)) {
      bucket_.borrow();
    } else if (!bucket_.take()) {
      return;
    }
    AdmissionTicket& ticket = *queue_.front();
    unqueue(ticket);
    ticket.state_ = AdmissionTicket::State::granted;
    inflight_shown_.add();
    posts.add(ticket);
  }
}

void Limiter::unqueue(AdmissionTicket& ticket) {
  Tickets::remove(ticket);
  --depth_;
  depth_shown_.add(-1);
}

void Limiter::told(AdmissionTicket& ticket) {
  ticket.data_.store(AdmissionTicket::Data::immune, std::memory_order_relaxed);
  allowed_.add();
}

bool Limiter::expire(AdmissionTicket& ticket, std::uint64_t now, AdmissionRefusal& refusal) {
  Posts posts;
  const std::lock_guard lock(mutex_);
  serve(now, posts);
  if (ticket.state_ == AdmissionTicket::State::waiting && now < ticket.deadline_) return false;
  ticket.deadline_ = 0;
  if (ticket.state_ != AdmissionTicket::State::waiting) return false;
  unqueue(ticket);
  ticket.state_ = AdmissionTicket::State::idle;
  rejected_.add();
  timeout_.add();
  refusal = kTimeout;
  return true;
}

void Limiter::leave(AdmissionTicket& ticket, std::uint64_t now) {
  Posts posts;
  const std::lock_guard lock(mutex_);
  ticket.deadline_ = 0;
  switch (std::exchange(ticket.state_, AdmissionTicket::State::idle)) {
    case AdmissionTicket::State::idle:
      return;
    case AdmissionTicket::State::waiting:
      unqueue(ticket);
      return;
    case AdmissionTicket::State::granted:
    case AdmissionTicket::State::running:
      inflight_shown_.add(-1);
      bucket_.give_back();
      serve(now, posts);
  }
}

void Limiter::configure(const Config& config, std::uint64_t now) {
  bool wake = false;
  {
    Posts posts;
    const std::lock_guard lock(mutex_);
    bucket_.refill(now);
    take_over(config.admission);
    serve(now, posts);
    wake = !queue_.empty() && bucket_.refills();
  }
  if (wake && wake_) wake_();
}

std::uint64_t Limiter::tick(std::uint64_t now) {
  Posts posts;
  const std::lock_guard lock(mutex_);
  serve(now, posts);
  return queue_.empty() || !bucket_.refills() ? kNever : bucket_.next_token(now);
}

}  // namespace smg
