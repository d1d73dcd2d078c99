#include "connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace plugin {
namespace {

constexpr uint64_t kConnectTime = 5'000'000'000;  // ns

int connect_to(int fd, const smg_address& address) {
  if (address.family == 6) {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(address.port);
    to.sin6_scope_id = address.scope_id;
    std::memcpy(&to.sin6_addr, address.bytes, 16);
    return ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(address.port);
  std::memcpy(&to.sin_addr, address.bytes, 4);
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to);
}

}  // namespace

Connection* Connection::open(const Services& services, User& user, std::string_view host,
                             uint16_t port) {
  auto* const self = new Connection(services, user);
  self->failure_ = "not connected within 5 s";
  services.loop.set(self->timer_, services.clock.now() + kConnectTime);
  const uint64_t handle = services.resolve.resolve(host, port, resolved, self);
  if (handle != 0) self->resolving_ = handle;  // else it was answered from within
  return self;
}

void Connection::resolved(void* raw, const smg_address* addresses, uint32_t count,
                          smg_view detail) noexcept {
  auto& self = *static_cast<Connection*>(raw);
  self.resolving_ = 0;
  self.failure_ = "name not resolved: " + std::string(smg::text(detail));
  self.addresses_.assign(addresses, addresses + count);
  self.try_next();
}

// Failures are told by the timer: the user may still be inside open().
void Connection::try_next() {
  while (next_ < addresses_.size()) {
    const smg_address& address = addresses_[next_++];
    const int family = address.family == 6 ? AF_INET6 : AF_INET;
    watch_.fd = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int one = 1;
    setsockopt(watch_.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (watch_.fd >= 0 && (connect_to(watch_.fd, address) == 0 || errno == EINPROGRESS)) {
      failure_ = "not connected within 5 s";
      if (watched()) return;
    } else {
      failure_ = std::strerror(errno);
    }
    drop_socket();
  }
  services_.loop.set(timer_, services_.clock.now());
}

bool Connection::watched() {
  try {
    services_.loop.watch(watch_);
    return true;
  } catch (const smg::Error& error) {
    failure_ = error.what();
    return false;
  }
}

void Connection::late() noexcept {
  end(SMG_END_CONNECT_FAILED, failure_);
}

void Connection::ready(uint32_t events) noexcept {
  if (user_ == nullptr) return;
  if (!connected_) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(watch_.fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      failure_ = std::strerror(error);
      services_.loop.unwatch(watch_);
      drop_socket();
      return try_next();
    }
    if ((events & SMG_READY_OUT) == 0) return;
    connected_ = true;
    services_.loop.clear(timer_);
  }
  if ((events & SMG_READY_OUT) != 0 && !flush()) {
    return end(SMG_END_CONNECTION_LOST, std::strerror(errno));
  }
  if ((events & (SMG_READY_IN | SMG_READY_HANGUP)) != 0) read();
}

void Connection::send(std::string_view bytes) {
  unsent_.append(bytes);
  if (connected_) flush();  // if that fails, a hang-up is about to be told
}

bool Connection::flush() {
  std::size_t sent = 0;
  while (sent < unsent_.size()) {
    const ssize_t n = ::send(watch_.fd, unsent_.data() + sent, unsent_.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) return false;
    if (n < 0) break;
    sent += static_cast<std::size_t>(n);
  }
  unsent_.erase(0, sent);
  return true;
}

// Until there is nothing left: the loop tells of new bytes only, never of those that were left.
void Connection::read() {
  const auto room = services_.loop.scratch();
  while (user_ != nullptr && !paused_) {
    const ssize_t n = ::recv(watch_.fd, room.data(), room.size(), 0);
    if (n > 0) {
      user_->received({room.data(), static_cast<std::size_t>(n)});
    } else if (n == 0) {
      if (unsent_.empty()) return end(SMG_END_COMPLETE, "the engine closed the connection");
      return end(SMG_END_CONNECTION_LOST, "the engine closed before it had the whole request");
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      return end(SMG_END_CONNECTION_LOST, std::strerror(errno));
    }
  }
}

// The scratch buffer may not be used here, so reading goes on at the end of the turn.
void Connection::resume() {
  paused_ = false;
  if (reading_on_) return;
  reading_on_ = true;
  services_.loop.defer(read_on_);
}

void Connection::read_on() noexcept {
  reading_on_ = false;
  if (user_ != nullptr && connected_) read();
}

void Connection::end(uint32_t reason, std::string_view detail) {
  User* const user = user_;
  const std::string words(detail);
  close();
  user->closed(reason, words);
}

void Connection::close() {
  if (user_ == nullptr) return;
  user_ = nullptr;
  if (resolving_ != 0) services_.resolve.cancel(resolving_);
  services_.loop.clear(timer_);
  services_.loop.unwatch(watch_);
  drop_socket();
  services_.loop.defer(bury_);
}

void Connection::drop_socket() {
  if (watch_.fd >= 0) ::close(watch_.fd);
  watch_.fd = -1;
}

}  // namespace plugin
