// The unused connections to one worker on one loop. The one used last is taken first, so that the
// others may age.
//
// They stay under watch: one that the engine closes leaves the pool at once. One timer per pool
// closes those that were unused for too long. What an engine says unasked must not pass for the
// answer to the next request, so a connection is looked at once more before it is used.
#pragma once

#include "connection_list.hpp"
#include "services.hpp"
#include "settings.hpp"

namespace smg::http {

class IdlePool final : private smg_timer {
 public:
  IdlePool(const Services& services, const Settings& settings);
  IdlePool(const IdlePool&) = delete;
  IdlePool& operator=(const IdlePool&) = delete;

  void put(Connection& connection);
  // Closes those on which something came unasked. nullptr: there is none.
  Connection* take();
  void remove(Connection& connection) { list_.remove(connection); }
  void close_all();

 private:
  static void timer_fired(smg_timer* timer);

  const Services& services_;
  const Settings& settings_;
  ConnectionList list_;
};

}  // namespace smg::http
