// A list of connections, linked through themselves. A connection is in one list at most.
#pragma once

#include <cstdint>

namespace smg::http {

class Connection;

// What a connection carries to be in a list.
struct ConnectionLink {
  Connection* previous = nullptr;
  Connection* next = nullptr;
};

class ConnectionList {
 public:
  Connection* front() const { return front_; }
  Connection* back() const { return back_; }
  bool empty() const { return front_ == nullptr; }
  uint32_t size() const { return size_; }
  void push_front(Connection& connection);
  // REQUIRES: it is in this list.
  void remove(Connection& connection);

 private:
  Connection* front_ = nullptr;
  Connection* back_ = nullptr;
  uint32_t size_ = 0;
};

}  // namespace smg::http
