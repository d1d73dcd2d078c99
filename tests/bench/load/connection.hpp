// One keep-alive client connection on the load generator's edge-triggered epoll set. Single thread.
// The request bytes are borrowed and must outlive the connection.
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "response_reader.hpp"

namespace smg::bench {

enum class Event {
  kNone,      // nothing that ends a request
  kComplete,  // the response is there
  kRefused,   // the connection could not be made
  kClosed,    // the server closed before the response was complete
  kReset,     // the connection broke before the response was complete
  kBad,       // not HTTP
  kIdleClose  // the server closed a connection on which nothing was pending
};

class Connection {
 public:
  Connection() = default;
  ~Connection() { close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Sends one request, on a new connection when there is none. kNone or what went wrong.
  Event submit(std::string_view request, const sockaddr_in& server, int epoll_fd,
               std::uint32_t index);

  /// Handles the epoll events of this connection. `on_body(piece)` gets the body of the response.
  /// After anything but kNone nothing is pending; after anything but kComplete the socket is
  /// closed.
  template <typename OnBody>
  Event handle(std::uint32_t events, OnBody&& on_body);

  bool pending() const { return pending_; }
  int status() const { return reader_.status(); }
  void close();

 private:
  Event flush();
  /// Reads once into a buffer that all connections share. kNone with empty `data`: nothing there
  /// now. `more`: another read may find something.
  Event receive(std::uint32_t events, std::string_view& data, bool& more);
  Event finish(Event event);

  int fd_ = -1;
  bool pending_ = false;
  std::string_view unsent_;
  ResponseReader reader_;
};

template <typename OnBody>
Event Connection::handle(std::uint32_t events, OnBody&& on_body) {
  if (fd_ < 0) return Event::kNone;
  Event event = flush();
  for (bool more = true; more && event == Event::kNone;) {
    std::string_view data;
    event = receive(events, data, more);
    if (data.empty()) continue;
    if (!pending_) return finish(Event::kBad);
    switch (reader_.feed(data, on_body)) {
      case ResponseReader::Result::kMore:
        break;
      case ResponseReader::Result::kBad:
        return finish(Event::kBad);
      case ResponseReader::Result::kComplete:
        return finish(data.empty() ? Event::kComplete : Event::kBad);
    }
  }
  return event == Event::kNone ? event : finish(event);
}

}  // namespace smg::bench
