#include "connection_list.hpp"

#include "connection.hpp"

namespace smg::http {

void ConnectionList::push_front(Connection& connection) {
  connection.link = {nullptr, front_};
  (front_ != nullptr ? front_->link.previous : back_) = &connection;
  front_ = &connection;
  ++size_;
}

void ConnectionList::remove(Connection& connection) {
  const ConnectionLink link = connection.link;
  (link.previous != nullptr ? link.previous->link.next : front_) = link.next;
  (link.next != nullptr ? link.next->link.previous : back_) = link.previous;
  connection.link = {};
  --size_;
}

}  // namespace smg::http
