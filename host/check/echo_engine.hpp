// A small HTTP/1.1 engine inside the checker, good and bad by order of the path.
//
// Blocking sockets, a thread for each connection. What /check/NAME does:
//   echo      answers the request's body
//   stream    answers twenty pieces, chunked
//   empty     answers 200 and no body
//   big       answers kBigSize bytes with their length
//   error     answers 500
//   endless   answers pieces until the client leaves
//   silent    reads the request and waits for the client to leave
//   head      answers a head, then waits for the client to leave
//   drop      closes without an answer
//   cut       announces more than it sends, and closes
//   garbage   answers what is no HTTP
// Everything else is 404, /health and /v1/models aside.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace smg::check {

class EchoEngine {
 public:
  static constexpr std::size_t kBigSize = 8u << 20;
  static constexpr std::size_t kStreamSize = 20 * 64;

  EchoEngine();
  ~EchoEngine();
  EchoEngine(const EchoEngine&) = delete;
  EchoEngine& operator=(const EchoEngine&) = delete;

  std::uint16_t port() const { return port_; }
  // Exchanges of endless, silent and head that the client left.
  int left() const { return left_.load(); }

 private:
  struct Connection {
    int fd = -1;
    bool open = true;  // under the lock; the last that its thread does is to clear it
    std::thread thread;
  };

  void accept_all();
  void serve(int fd);
  // False: the connection is over.
  bool answer(int fd, std::string_view path, std::string_view body);
  bool wait_for_leave(int fd);

  int listen_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<int> left_{0};
  std::mutex mutex_;
  std::list<Connection> connections_;
  std::thread acceptor_;
};

}  // namespace smg::check
