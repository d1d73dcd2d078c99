// The way of the bytes of one client connection: a socket, with TLS on it or not.
//
// Non-blocking, for a socket that is watched edge-triggered. Owned by its connection, on its loop.
// Without TLS it is one comparison and the system call.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "host/tls/tls_stream.hpp"

namespace smg {

class Channel {
 public:
  using State = TlsStream::State;
  using Outcome = TlsStream::Outcome;

  // `tls`: nullptr for none; outlives the channel. `fd` stays the owner's, and open as long as this
  // is used.
  Channel(int fd, const ServerTls* tls)
      : fd_(fd), tls_(tls == nullptr ? nullptr : std::make_unique<TlsStream>(*tls, fd)) {}

  // Carries the handshake as well. After `plain_http` the channel is one without TLS, so that an
  // answer can be given. REQUIRES: size > 0.
  Outcome read(char* to, std::size_t size);
  // Takes what the socket takes, of `second` only behind all of `first`. What was not taken has to
  // come first in the next call, and no less of it.
  Outcome write(std::string_view first, std::string_view second = {});

  bool is_tls() const { return tls_ != nullptr; }
  // Nothing can be written yet: write() is blocked, and no event says when it no longer is.
  bool handshaking() const { return tls_ != nullptr && !tls_->established(); }
  // When the socket has room, read() has to be called, not only write().
  bool read_wants_room() const { return tls_ != nullptr && tls_->wants_write(); }
  // The client showed a certificate that [tls] client_ca_path vouches for.
  bool verified_client() const { return tls_ != nullptr && tls_->verified_client(); }

  // Nothing more will be written: tells the peer, and reads on. False: the socket had no room to
  // say so, call again when it has.
  bool shutdown_write();
  // Before the socket is closed without that, and nothing is missing: tells the peer if possible.
  void say_goodbye() {
    if (tls_ != nullptr) tls_->send_close_notify();
  }

 private:
  Outcome read_tls(char* to, std::size_t size);
  Outcome write_tls(std::string_view first, std::string_view second);
  static bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

  int fd_;
  std::unique_ptr<TlsStream> tls_;
};

inline Channel::Outcome Channel::read(char* to, std::size_t size) {
  if (tls_ != nullptr) return read_tls(to, size);
  ssize_t count;
  do {
    count = recv(fd_, to, size, 0);
  } while (count < 0 && errno == EINTR);
  if (count > 0) {
    const auto bytes = static_cast<std::size_t>(count);
    return {State::moved, bytes < size, bytes};
  }
  if (count == 0) return {State::closed};
  return {would_block() ? State::blocked : State::failed};
}

inline Channel::Outcome Channel::write(std::string_view first, std::string_view second) {
  if (tls_ != nullptr) return write_tls(first, second);
  ssize_t count;
  do {
    if (second.empty()) {
      count = send(fd_, first.data(), first.size(), MSG_NOSIGNAL);
    } else {
      iovec parts[2] = {{const_cast<char*>(first.data()), first.size()},
                        {const_cast<char*>(second.data()), second.size()}};
      msghdr message{};
      message.msg_iov = parts;
      message.msg_iovlen = 2;
      count = sendmsg(fd_, &message, MSG_NOSIGNAL);
    }
  } while (count < 0 && errno == EINTR);
  if (count >= 0) return {State::moved, false, static_cast<std::size_t>(count)};
  return {would_block() ? State::blocked : State::failed};
}

}  // namespace smg
