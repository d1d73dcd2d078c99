#include "host/http/listener_loop.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "host/http/connection.hpp"

namespace smg {

ListenerLoop::ListenerLoop(Loop& of, LoopState& routing_state, ListenerShared& with)
    : smg_watch{},
      loop(of),
      routing(routing_state),
      shared(with),
      cork_(std::make_unique<char[]>(kCorkSize)),
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
    const int client = accept4(this->fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client < 0) {
      if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
      if (errno != EAGAIN) {
        // Out of descriptors or memory: the pending clients wait, the running ones go on.
        loop.set_timer(&accept_timer_, loop.now() + 100'000'000);
      }
      return;
    }
    const int on = 1;
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    auto* connection = new Connection(*this, client);
    if (!connection->start()) delete connection;
  }
}

void ListenerLoop::add(Connection* connection) {
  connection->next = connections_;
  connection->link = &connections_;
  if (connections_ != nullptr) connections_->link = &connection->next;
  connections_ = connection;
}

void ListenerLoop::remove(Connection* connection) {
  if (connection->link == nullptr) return;
  *connection->link = connection->next;
  if (connection->next != nullptr) connection->next->link = connection->link;
  connection->link = nullptr;
}

void ListenerLoop::drain() {
  for (Connection* connection = connections_; connection != nullptr;) {
    Connection* following = connection->next;
    connection->drain();
    connection = following;
  }
}

void ListenerLoop::take(std::shared_ptr<const Config> config) {
  routing.take(std::move(config));
  for (Connection* at = connections_; at != nullptr; at = at->next) at->config_changed();
}

void ListenerLoop::close_all() {
  while (connections_ != nullptr) connections_->close_now();
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
