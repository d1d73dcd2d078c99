// A list of tickets in order of their coming; intrusive, guarded by the Admission's mutex. A ticket
// is in one list at most.
#pragma once

#include "host/admission/ticket.hpp"

namespace smg {

class Tickets {
 public:
  bool empty() const { return first_ == nullptr; }
  // nullptr if empty.
  AdmissionTicket* front() const { return first_; }
  AdmissionTicket* back() const { return last_; }

  void push_back(AdmissionTicket& ticket) {
    ticket.list_ = this;
    ticket.prev_ = last_;
    ticket.next_ = nullptr;
    (last_ == nullptr ? first_ : last_->next_) = &ticket;
    last_ = &ticket;
  }
  // Out of the list it is in, if it is in one.
  static void remove(AdmissionTicket& ticket) {
    Tickets* list = ticket.list_;
    if (list == nullptr) return;
    ticket.list_ = nullptr;
    (ticket.prev_ == nullptr ? list->first_ : ticket.prev_->next_) = ticket.next_;
    (ticket.next_ == nullptr ? list->last_ : ticket.next_->prev_) = ticket.prev_;
  }

 private:
  AdmissionTicket* first_ = nullptr;
  AdmissionTicket* last_ = nullptr;
};

}  // namespace smg
