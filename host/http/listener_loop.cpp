#include "host/http/listener_loop.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "host/http/connection.hpp"

namespace smg {
namespace {

constexpr std::uint64_t kAcceptPause = 100'000'000;
constexpr int kTurnedAwayAtOnce = 16;  // then a pause: descriptors may come free

// Connections beyond the limit that still get to put a question.
std::uint32_t excess(std::uint32_t limit) {
  return std::clamp<std::uint32_t>(limit / 8, 4, 64);
}

// Without the port. An IPv4 client of an IPv6 socket is shown as what it is.
std::string address_text(const sockaddr_storage& peer) {
  char text[INET6_ADDRSTRLEN] = "";
  if (peer.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(peer).sin_addr, text, sizeof text);
  } else if (peer.ss_family == AF_INET6) {
    const auto& address = reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&address)) {
      inet_ntop(AF_INET, address.s6_addr + 12, text, sizeof text);
    } else {
      inet_ntop(AF_INET6, &address, text, sizeof text);
    }
  }
  return text;
}

// To a client whose question is not waited for, because there is no room to wait in.
void turn_away(int client, bool plain) {
  static constexpr std::string_view kAnswer =
      "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n"
      "x-smg-error-code: too_many_connections\r\nretry-after: 1\r\nconnection: close\r\n"
      "content-length: 136\r\n\r\n"
      R"({"error":{"type":"Service Unavailable","code":"too_many_connections",)"
      R"("message":"This gateway has no room for connections","param":null}})";
  static_assert(kAnswer.size() - kAnswer.find("{") == 136);
  if (!plain) {  // there is no room for a handshake either
    close(client);
    return;
  }
  char unread[4096];
  // What lies unread when a socket is closed resets the connection, and the answer is lost.
  while (recv(client, unread, sizeof unread, MSG_DONTWAIT) == ssize_t{sizeof unread}) {
  }
  [[maybe_unused]] const ssize_t sent =
      send(client, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(client, SHUT_WR);
  close(client);
}

}  // namespace

ListenerLoop::ListenerLoop(Loop& of, LoopState& routing_state, ListenerShared& with,
                           std::shared_ptr<const ServingKeys> serving_keys)
    : smg_watch{},
      loop(of),
      routing(routing_state),
      shared(with),
      keys(std::move(serving_keys)),
      cork_(std::make_unique<char[]>(kCorkSize)),
      spare_(open("/dev/null", O_RDONLY | O_CLOEXEC)),
      series_(std::make_unique<RouteSeries[]>(all_routes().size())) {
  this->fd = -1;
  cork_task_.run = cork_return;
  cork_task_.owner = this;
  accept_timer_.fired = accept_again;
  accept_timer_.owner = this;
  age_timer_.fired = sample_ages;
  age_timer_.owner = this;
  for (std::size_t i = 0; i < age_series_.size(); ++i) {
    age_series_[i] = routing.families.http_inflight_request_age.with(
        {i == 0 ? "0" : std::to_string(kAgeBounds[i - 1]),
         i == kAgeBounds.size() ? "+Inf" : std::to_string(kAgeBounds[i])});
  }
  loop.set_timer(&age_timer_, loop.now() + kAgeInterval);
  for (const Route& route : all_routes()) {
    RouteSeries& row = series(route);
    row.requests = routing.families.http_requests.with({route.method, route.path});
    row.duration = routing.families.http_request_duration.with({route.method, route.path});
  }
}

ListenerLoop::~ListenerLoop() {
  stop_accepting();
  loop.clear_timer(&age_timer_);
  close_all();
  if (spare_ >= 0) close(spare_);
}

void ListenerLoop::sample_ages(smg_timer* timer) {
  auto* self = static_cast<Timer*>(timer)->owner;
  std::array<double, kAgeBounds.size() + 1> counts{};
  for (const Connection* at = self->connections_; at != nullptr; at = at->next) {
    if (!at->busy()) continue;
    const std::uint64_t age = (self->loop.now() - at->started()) / 1'000'000'000;
    std::size_t bin = 0;
    while (bin < kAgeBounds.size() && age > kAgeBounds[bin]) ++bin;
    ++counts[bin];
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    self->age_series_[i].add(counts[i] - self->ages_[i]);
  }
  self->ages_ = counts;
  self->loop.set_timer(&self->age_timer_, self->loop.now() + kAgeInterval);
}

void ListenerLoop::listen(int socket) {
  this->fd = socket;
  ready = accept_ready;
  loop.watch(this);
  accept_some();
}

void ListenerLoop::stop_accepting() {
  if (this->fd < 0) return;
  accept_some();
  loop.clear_timer(&accept_timer_);
  loop.unwatch(this);
  close(this->fd);
  this->fd = -1;
}

void ListenerLoop::accept_ready(smg_watch* watch, std::uint32_t) {
  static_cast<ListenerLoop*>(watch)->accept_some();
}

void ListenerLoop::accept_again(smg_timer* timer) {
  static_cast<Timer*>(timer)->owner->accept_some();
}

void ListenerLoop::accept_some() {
  if (this->fd < 0) return;
  for (;;) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    const int client =
        accept4(this->fd, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client < 0) {
      if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
      if (errno == EAGAIN) return;
      // Out of descriptors or memory: the running clients go on, some of the pending ones hear of
      // it, the others wait.
      int told = 0;
      while (told < kTurnedAwayAtOnce && turn_away_with_spare()) ++told;
      loop.set_timer(&accept_timer_, loop.now() + kAcceptPause);
      return;
    }
    take_in(client, peer);
  }
}

void ListenerLoop::take_in(int client, const sockaddr_storage& peer) {
  const std::uint32_t limit = connection_limit();
  const std::uint32_t present = shared.connections.load(std::memory_order_relaxed);
  if (present >= limit + excess(limit)) {
    routing.families.http_limit_rejections.with({"connections"}).add();
    turn_away(client, shared.tls == nullptr);
    return;
  }
  const int on = 1;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  auto* connection = new Connection(*this, client, address_text(peer), present >= limit);
  if (!connection->start()) delete connection;
}

bool ListenerLoop::turn_away_with_spare() {
  if (spare_ < 0) spare_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (spare_ < 0) return false;
  close(spare_);
  const int client = accept4(this->fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (client >= 0) {
    routing.families.http_limit_rejections.with({"descriptors"}).add();
    turn_away(client, shared.tls == nullptr);
  }
  spare_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  return client >= 0;
}

std::uint32_t ListenerLoop::connection_limit() const {
  const std::uint32_t wanted = config().limits.max_connections;
  return wanted == 0 ? shared.most_connections : std::min(wanted, shared.most_connections);
}

void ListenerLoop::add(Connection* connection) {
  connection->next = connections_;
  connection->link = &connections_;
  if (connections_ != nullptr) connections_->link = &connection->next;
  connections_ = connection;
  shared.connections.fetch_add(1, std::memory_order_relaxed);
  routing.families.http_connections_open.add(1);
}

void ListenerLoop::remove(Connection* connection) {
  if (connection->link == nullptr) return;
  *connection->link = connection->next;
  if (connection->next != nullptr) connection->next->link = connection->link;
  connection->link = nullptr;
  shared.connections.fetch_sub(1, std::memory_order_relaxed);
  routing.families.http_connections_open.add(-1);
}

void ListenerLoop::drain() {
  for (Connection* connection = connections_; connection != nullptr;) {
    Connection* following = connection->next;
    connection->drain();
    connection = following;
  }
}

void ListenerLoop::take(std::shared_ptr<const Config> config,
                        std::shared_ptr<const ServingKeys> serving_keys) {
  const bool others_may_ask = config->auth != routing.config().auth;
  routing.take(std::move(config));
  keys = std::move(serving_keys);
  for (Connection* at = connections_; at != nullptr;) {
    Connection* const following = at->next;
    at->config_changed();
    if (others_may_ask) at->end_events();
    at = following;
  }
}

void ListenerLoop::close_all() {
  while (connections_ != nullptr) connections_->cut_off();
}

void ListenerLoop::cork(Connection* connection, std::string_view data) {
  if (corked_ != connection) {
    uncork();
    corked_ = connection;
  }
  if (cork_size_ + data.size() > kCorkSize) {
    // Goes out behind what is corked, in one call and without a copy.
    const std::size_t size = cork_size_;
    corked_ = nullptr;
    cork_size_ = 0;
    connection->flush_cork({cork_.get(), size}, data);
    return;
  }
  std::memcpy(cork_.get() + cork_size_, data.data(), data.size());
  cork_size_ += data.size();
  if (!cork_task_.queued) {
    cork_task_.queued = true;
    loop.at_return(&cork_task_);
  }
}

void ListenerLoop::uncork() {
  Connection* connection = corked_;
  const std::size_t size = cork_size_;
  corked_ = nullptr;
  cork_size_ = 0;
  if (connection != nullptr && size > 0) connection->flush_cork({cork_.get(), size}, {});
}

void ListenerLoop::forget(const Connection* connection) {
  if (corked_ != connection) return;
  corked_ = nullptr;
  cork_size_ = 0;
}

void ListenerLoop::cork_return(smg_task* task) {
  auto* self = static_cast<CorkTask*>(task)->owner;
  self->cork_task_.queued = false;
  self->uncork();
}

}  // namespace smg
