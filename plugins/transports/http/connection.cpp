#include "connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "endpoint.hpp"
#include "loop_state.hpp"
#include "transport.hpp"

namespace smg::http {
namespace {

constexpr int kKeepaliveSeconds = 30;

void set_option(int socket, int level, int name, int value) {
  setsockopt(socket, level, name, &value, sizeof value);
}

int open_socket(int family) {
  const int socket = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepaliveSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepaliveSeconds);
  return socket;
}

int start_connect(int socket, const smg_address& address) {
  if (address.family == 6) {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(address.port);
    to.sin6_scope_id = address.scope_id;
    std::memcpy(&to.sin6_addr, address.bytes, 16);
    return ::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(address.port);
  std::memcpy(&to.sin_addr, address.bytes, 4);
  return ::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to);
}

}  // namespace

Connection::Connection(LoopState& loop, Endpoint& endpoint)
    : smg_watch{}, smg_task{}, loop_(loop), endpoint_(endpoint) {
  ready = on_ready;
  run = on_task;
  fd = -1;
}

Connection::~Connection() = default;

int Connection::connect(const smg_address& address, Dial& dial) {
  const int socket = open_socket(address.family == 6 ? AF_INET6 : AF_INET);
  if (socket < 0) return errno;
  if (start_connect(socket, address) != 0 && errno != EINPROGRESS) {
    const int error = errno;
    ::close(socket);
    return error;
  }
  dial_ = &dial;
  fd = socket;
  // Watched only now: a socket that was never connected reports a hang-up.
  if (loop_.services.watch(this)) return 0;
  ::close(socket);
  fd = -1;
  return ENOMEM;
}

void Connection::on_ready(smg_watch* watch, uint32_t events) {
  auto& self = *static_cast<Connection*>(watch);
  switch (self.state_) {
    case State::busy:
      break;
    case State::idle:
      return self.check_idle(events);
    case State::connecting:
      self.finish_connect(events);
      break;
    case State::handshaking:
      self.handshake();
      events |= SMG_READY_IN;  // the session may have read ahead
      break;
    case State::closed:
      return;
  }
  // An exchange may have begun just now: what came along with the connection has no event left.
  if (self.state_ == State::busy) self.advance(events);
}

void Connection::advance(uint32_t events) {
  if ((events & SMG_READY_HANGUP) != 0) hangup_ = true;
  if (!written_ && (events & SMG_READY_OUT) != 0) {
    write_request();
    // That may have been the end of the exchange.
    if (state_ != State::busy) return;
  }
  if ((events & (SMG_READY_IN | SMG_READY_HANGUP)) != 0) read();
}

void Connection::on_task(smg_task* task) {
  auto& self = *static_cast<Connection*>(task);
  self.task_pending_ = false;
  if (self.state_ == State::closed) {
    LoopState& loop = self.loop_;
    loop.connections.give_back(&self);
    loop.transport.release();
  } else if (self.state_ == State::busy && self.read_wanted_) {
    self.read();
  }
}

void Connection::finish_connect(uint32_t events) {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return dial_->attempt_failed(*this, error);
  if ((events & SMG_READY_OUT) != 0) dial_->attempt_connected(*this);
}

void Connection::begin_handshake() {
  state_ = State::handshaking;
  tls_ = std::make_unique<TlsSession>(endpoint_.tls()->context(), endpoint_.host(), fd,
                                      endpoint_.ticket(loop_.index));
  handshake();
}

void Connection::handshake() {
  switch (tls_->handshake()) {
    case Handshake::going_on:
      break;
    case Handshake::done:
      dial_->handshake_done(*this);
      break;
    case Handshake::failed:
      dial_->handshake_failed(*this, tls_->error());
      break;
  }
}

void Connection::become_idle(uint64_t now) {
  state_ = State::idle;
  idle_since_ = now;
}

void Connection::check_idle(uint32_t events) {
  if ((events & (SMG_READY_IN | SMG_READY_HANGUP)) == 0) return;
  // Nothing is due on an idle connection, with TLS the odd session ticket excepted.
  if (tls_ == nullptr || (events & SMG_READY_HANGUP) != 0 || !is_quiet()) close();
}

bool Connection::is_quiet() {
  char byte = 0;
  if (tls_ != nullptr) return tls_->receive(&byte, 1).state == Transfer::State::blocked;
  return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

void Connection::close() {
  if (state_ == State::closed) return;
  if (state_ == State::idle) {
    // take() has removed it from the pool if it is about to be used; then the state is not idle any
    // more.
    endpoint_.pool(loop_.index).remove(*this);
    if (tls_ != nullptr) tls_->say_goodbye();
  }
  state_ = State::closed;
  exchange_ = nullptr;
  dial_ = nullptr;
  if (fd >= 0) {
    loop_.services.unwatch(this);
    ::close(fd);
    fd = -1;
  }
  tls_.reset();
  kept_.clear();
  loop_.transport.retain();
  if (task_pending_) return;
  task_pending_ = true;
  loop_.services.defer(this);
}

}  // namespace smg::http
