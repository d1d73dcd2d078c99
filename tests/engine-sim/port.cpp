#include "port.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

namespace smg::sim {

namespace {

// Connection ids are unique in the process, so that a test can tell connections of engines apart.
std::uint64_t next_connection = 1;

}  // namespace

Port::Port(Loop& loop, std::string host, std::uint16_t port, const TlsContext* tls,
           Service& service)
    : loop_(loop), host_(std::move(host)), port_(port), tls_(tls), service_(service) {
  listen();
  port_ = local_port(fd_);
}

Port::~Port() {
  refuse();
  drop_connections();
}

std::string Port::url() const {
  return (tls_ != nullptr ? "https://" : "http://") + authority(host_, port_);
}

void Port::listen() {
  if (fd_ >= 0) return;
  fd_ = open_listener(host_, port_);
  loop_.watch(fd_, *this, EPOLLIN);
}

void Port::refuse() {
  if (fd_ < 0) return;
  loop_.unwatch(fd_);
  ::close(fd_);
  fd_ = -1;
}

void Port::drop_connections() {
  std::vector<Connection*> open;
  for (const auto& [id, connection] : connections_) open.push_back(connection.get());
  for (Connection* connection : open) connection->close(true);
}

void Port::set_idle_limit(std::int64_t after_ms) {
  idle_limit_ms_ = after_ms;
  for (const auto& [id, connection] : connections_) connection->set_idle_limit(after_ms);
}

void Port::ready(std::uint32_t) {
  while (fd_ >= 0) {
    const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::uint64_t id = next_connection++;
    Socket socket(fd, tls_ != nullptr ? tls_->new_session(fd) : nullptr);
    auto connection = std::make_unique<Connection>(loop_, std::move(socket), service_, id);
    Connection& started = *connection;
    connections_.emplace(id, std::move(connection));
    ++accepted_;
    started.set_idle_limit(idle_limit_ms_);
    started.start();
  }
}

void Port::forget(Connection& connection) {
  const auto found = connections_.find(connection.id());
  if (found == connections_.end()) return;
  loop_.retire(std::move(found->second));
  connections_.erase(found);
}

}  // namespace smg::sim
