#include "host/admission/limiter.hpp"

#include <utility>

#include "host/config/duration.hpp"

namespace smg {
namespace {

constexpr AdmissionRefusal kFull{
    429, "admission_queue_full",
    "The gateway is at its limit of concurrent requests; try again later", 2};
constexpr AdmissionRefusal kTimeout{503, "admission_queue_timeout",
                                    "No room became free in time; try again later", 2};

double rate_of(const AdmissionConfig& config) {
  return static_cast<double>(config.rate_limit_tokens_per_second.value_or(0));
}

}  // namespace

Limiter::Limiter(const AdmissionConfig& config, Families& families, std::function<void()> wake)
    : bucket_(static_cast<double>(config.max_concurrent_requests), rate_of(config)),
      queue_size_(config.queue_size),
      queue_timeout_(seconds_to_ns(config.queue_timeout_secs)),
      wake_(std::move(wake)),
      allowed_(families.http_rate_limit.with({"allowed"})),
      rejected_(families.http_rate_limit.with({"rejected"})),
      full_(families.admission_queue_rejected.with({"full"})),
      timeout_(families.admission_queue_rejected.with({"timeout"})),
      depth_shown_(families.admission_queue_depth),
      inflight_shown_(families.admission_inflight) {}

Admission::Answer Limiter::enter(AdmissionTicket& ticket, const AdmissionRequest& request,
                                 AdmissionRefusal& refusal) {
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
    wake = queue_.empty() && bucket_.per_second() > 0;
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
  while (!queue_.empty() && bucket_.take()) {
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
  Posts posts;
  const std::lock_guard lock(mutex_);
  const AdmissionConfig& limits = config.admission;
  bucket_.refill(now);
  bucket_.resize(static_cast<double>(limits.max_concurrent_requests), rate_of(limits));
  queue_size_ = limits.queue_size;
  queue_timeout_ = seconds_to_ns(limits.queue_timeout_secs);
  serve(now, posts);
}

std::uint64_t Limiter::tick(std::uint64_t now) {
  Posts posts;
  const std::lock_guard lock(mutex_);
  serve(now, posts);
  return queue_.empty() || bucket_.per_second() <= 0 ? kNever : bucket_.next_token(now);
}

}  // namespace smg
