#include "idle_pool.hpp"

#include "connection.hpp"

namespace smg::http {

IdlePool::IdlePool(const Services& services, const Settings& settings)
    : smg_timer{}, services_(services), settings_(settings) {
  fired = timer_fired;
}

void IdlePool::put(Connection& connection) {
  if (settings_.idle_limit == 0) return connection.close();
  connection.become_idle(services_.now());
  list_.push_front(connection);
  if (list_.size() > settings_.idle_limit) list_.back()->close();
  if (settings_.idle_timeout != 0 && host_link == nullptr) {
    services_.set_timer(this, list_.back()->idle_since() + settings_.idle_timeout);
  }
}

Connection* IdlePool::take() {
  while (Connection* connection = list_.front()) {
    if (connection->is_quiet()) {
      list_.remove(*connection);
      return connection;
    }
    connection->close();
  }
  return nullptr;
}

void IdlePool::close_all() {
  services_.clear_timer(this);
  while (!list_.empty()) list_.front()->close();
}

void IdlePool::timer_fired(smg_timer* timer) {
  auto& pool = *static_cast<IdlePool*>(timer);
  const uint64_t now = pool.services_.now();
  while (!pool.list_.empty()) {
    const uint64_t due = pool.list_.back()->idle_since() + pool.settings_.idle_timeout;
    if (due > now) return pool.services_.set_timer(timer, due);
    pool.list_.back()->close();
  }
}

}  // namespace smg::http
