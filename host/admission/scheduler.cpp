#include "host/admission/scheduler.hpp"

#include <algorithm>
#include <utility>

#include "host/admission/priority_class.hpp"
#include "host/config/duration.hpp"

namespace smg {
namespace {

constexpr AdmissionRefusal kFull{429, "scheduler_queue_full",
                                 "Too many requests of this priority wait; try again later", 2};
constexpr AdmissionRefusal kTooFast{429, "scheduler_queue_full",
                                    "More requests per second than allowed; try again later", 2};
constexpr AdmissionRefusal kTimeout{503, "scheduler_queue_timeout",
                                    "No room became free in time; try again later", 2};

}  // namespace

Admission::Answer Scheduler::enter(AdmissionTicket& ticket, const AdmissionRequest& request,
                                   AdmissionRefusal& refusal) {
  const auto asked = priority_rank(request.priority);
  const std::size_t wanted = asked.value_or(kDefaultRank);
  const Answer answer = place(ticket, request, wanted, refusal);
  if (!asked && !request.priority.empty()) unknown_.with({request.tenant}).add();
  if (ticket.rank_ < wanted) {
    clamp_
        .with({request.tenant, defaults::kPriorityClasses[wanted],
               defaults::kPriorityClasses[ticket.rank_]})
        .add();
  }
  return answer;
}

Admission::Answer Scheduler::place(AdmissionTicket& ticket, const AdmissionRequest& request,
                                   std::size_t wanted, AdmissionRefusal& refusal) {
  Posts posts;
  const std::lock_guard lock(mutex_);
  const std::size_t rank = std::min(wanted, highest_for(request.tenant));
  Class& of = classes_[rank];
  ticket.admission_ = this;
  ticket.rank_ = static_cast<std::uint8_t>(rank);
  ticket.entered_ = request.now;
  ticket.waited_ = 0;
  if (rate_) {
    rate_->refill(request.now);
    if (!rate_->take()) {
      of.queue_full.add();
      refusal = kTooFast;
      return Answer::refused;
    }
  }
  dispatch(request.now, posts);
  // Nobody of the class waits if there is room: dispatch() would have let him in.
  if (has_room(rank)) {
    ticket.state_ = AdmissionTicket::State::running;
    ++of.inflight;
    ++inflight_;
    told(ticket);
    return Answer::admitted;
  }
  ticket.counted_ = !(of.limits.can_preempt && preempt_for(rank, posts));
  if (ticket.counted_ && of.depth >= of.limits.queue_size) {
    of.queue_full.add();
    refusal = kFull;
    return Answer::refused;
  }
  if (ticket.counted_) ++of.depth;
  ticket.deadline_ =
      request.now + (ticket.counted_ ? seconds_to_ns(of.limits.queue_timeout_secs) : kPreemptWait);
  ticket.state_ = AdmissionTicket::State::waiting;
  of.queue.push_back(ticket);
  return Answer::waiting;
}

std::size_t Scheduler::highest_for(std::string_view tenant) const {
  if (highest_.empty()) return default_highest_;
  const auto found = highest_.find(tenant);
  return found == highest_.end() ? default_highest_ : found->second;
}

bool Scheduler::has_room(std::size_t rank) const {
  std::uint64_t taken = inflight_;
  for (std::size_t above = rank + 1; above < kClasses; ++above) {
    const Class& of = classes_[above];
    if (of.reserved > of.inflight) taken += of.reserved - of.inflight;
  }
  return taken < capacity_;
}

bool Scheduler::is_starved(const Class& of, std::uint64_t now) const {
  return !of.queue.empty() &&
         now > of.queue.front()->entered_ + seconds_to_ns(of.limits.starvation_threshold_secs);
}

void Scheduler::dispatch(std::uint64_t now, Posts& posts) {
  for (std::size_t rank = 0; rank < kStarvable; ++rank) {
    Class& of = classes_[rank];
    while (inflight_ < capacity_ && is_starved(of, now)) {
      of.promoted.add();
      grant(of, now, posts);
    }
  }
  for (std::size_t rank = kClasses; rank-- > 0;) {
    Class& of = classes_[rank];
    while (!of.queue.empty() && has_room(rank)) grant(of, now, posts);
  }
}

void Scheduler::grant(Class& of, std::uint64_t now, Posts& posts) {
  AdmissionTicket& ticket = *of.queue.front();
  unqueue(ticket);
  ticket.state_ = AdmissionTicket::State::granted;
  ticket.waited_ = now > ticket.entered_ ? now - ticket.entered_ : 0;
  ++of.inflight;
  ++inflight_;
  posts.add(ticket);
}

bool Scheduler::preempt_for(std::size_t rank, Posts& posts) {
  for (std::size_t lower = 0; lower < rank; ++lower) {
    Class& of = classes_[lower];
    while (!of.preemptible.empty()) {
      AdmissionTicket& ticket = *of.preemptible.back();
      Tickets::remove(ticket);
      auto data = AdmissionTicket::Data::preemptible;
      if (!ticket.data_.compare_exchange_strong(data, AdmissionTicket::Data::preempted,
                                                std::memory_order_acq_rel)) {
        continue;
      }
      ticket.tell_preempted_ = true;
      posts.add(ticket);
      of.preempted.add();
      of.preemption[rank].add();
      return true;
    }
  }
  return false;
}

void Scheduler::told(AdmissionTicket& ticket) {
  Class& of = class_of(ticket);
  ticket.data_.store(AdmissionTicket::Data::preemptible, std::memory_order_relaxed);
  of.preemptible.push_back(ticket);
  of.admitted.add();
  if (ticket.waited_ > 0) of.wait.observe(static_cast<double>(ticket.waited_) / 1e9);
}

void Scheduler::unqueue(AdmissionTicket& ticket) {
  Tickets::remove(ticket);
  if (ticket.counted_) --class_of(ticket).depth;
}

bool Scheduler::expire(AdmissionTicket& ticket, std::uint64_t now, AdmissionRefusal& refusal) {
  Posts posts;
  const std::lock_guard lock(mutex_);
  dispatch(now, posts);
  if (ticket.state_ != AdmissionTicket::State::waiting) {
    ticket.deadline_ = 0;
    return false;
  }
  if (now < ticket.deadline_) return false;
  Class& of = class_of(ticket);
  if (!ticket.counted_ && of.depth < of.limits.queue_size) {
    ticket.counted_ = true;
    ++of.depth;
    ticket.deadline_ = now + seconds_to_ns(of.limits.queue_timeout_secs);
    return false;
  }
  (ticket.counted_ ? of.queue_timeout : of.queue_full).add();
  refusal = ticket.counted_ ? kTimeout : kFull;
  unqueue(ticket);
  ticket.state_ = AdmissionTicket::State::idle;
  ticket.deadline_ = 0;
  return true;
}

void Scheduler::leave(AdmissionTicket& ticket, std::uint64_t now) {
  Posts posts;
  const std::lock_guard lock(mutex_);
  ticket.deadline_ = 0;
  const auto state = std::exchange(ticket.state_, AdmissionTicket::State::idle);
  if (state == AdmissionTicket::State::idle) return;
  Class& of = class_of(ticket);
  if (state != AdmissionTicket::State::running) of.cancelled.add();
  if (state == AdmissionTicket::State::waiting) return unqueue(ticket);
  Tickets::remove(ticket);
  ticket.tell_preempted_ = false;
  ticket.data_.store(AdmissionTicket::Data::immune, std::memory_order_relaxed);
  --of.inflight;
  --inflight_;
  dispatch(now, posts);
}

}  // namespace smg
