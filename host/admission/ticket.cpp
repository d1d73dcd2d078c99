#include "host/admission/ticket.hpp"

namespace smg {

std::optional<AdmissionRefusal> AdmissionTicket::expire(std::uint64_t now) {
  AdmissionRefusal refusal;
  if (admission_ != nullptr && admission_->expire(*this, now, refusal)) return refusal;
  return std::nullopt;
}

bool AdmissionTicket::begin_data() {
  Data data = Data::preemptible;
  data_.compare_exchange_strong(data, Data::immune, std::memory_order_acq_rel);
  return data != Data::preempted;
}

void AdmissionTicket::leave(std::uint64_t now) {
  if (admission_ != nullptr) admission_->leave(*this, now);
}

void AdmissionTicket::abandon(std::uint64_t now) {
  leave(now);
  holder_ = nullptr;
  if (admission_ != nullptr) {
    const std::lock_guard lock(admission_->mutex_);
    if (on_its_way_) return;
  }
  delete this;
}

void AdmissionTicket::run(smg_task* task) {
  static_cast<AdmissionTicket*>(task)->arrive();
}

void AdmissionTicket::arrive() {
  bool admitted = false;
  bool preempted = false;
  {
    const std::lock_guard lock(admission_->mutex_);
    on_its_way_ = false;
    admitted = state_ == State::granted;
    if (admitted) {
      state_ = State::running;
      deadline_ = 0;
      admission_->told(*this);
    }
    preempted = tell_preempted_;
    tell_preempted_ = false;
  }
  if (holder_ == nullptr) {
    delete this;
  } else if (admitted) {
    holder_->admitted();
  } else if (preempted) {
    holder_->preempted();
  }
}

Admission::Posts::~Posts() {
  while (first_ != nullptr) {
    AdmissionTicket* ticket = first_;
    first_ = ticket->next_post_;
    // It may be gone as soon as it is posted.
    ticket->post_(ticket->loop_, ticket);
  }
}

void Admission::Posts::add(AdmissionTicket& ticket) {
  // One that is on its way already tells what there is to tell when it arrives.
  if (ticket.on_its_way_) return;
  ticket.on_its_way_ = true;
  ticket.next_post_ = nullptr;
  (last_ == nullptr ? first_ : last_->next_post_) = &ticket;
  last_ = &ticket;
}

}  // namespace smg
