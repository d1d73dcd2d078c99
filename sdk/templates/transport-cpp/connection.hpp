// One TCP connection to an engine, non-blocking, on the loop that opened it.
//
// Owned by itself: made by open(), gone at the end of the turn in which it closed. Its user is told
// of bytes and of the end, never from within open() or send(), and after close() of nothing more.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "smg/cpp/clock.hpp"
#include "smg/cpp/fleet.hpp"
#include "smg/cpp/loop.hpp"
#include "smg/cpp/resolve.hpp"
#include "smg/transport.h"

namespace plugin {

// What the transport uses of the host, looked up once.
struct Services {
  explicit Services(smg::Host host) : loop(host), clock(host), resolve(host), fleet(host) {}
  smg::Loop loop;
  smg::Clock clock;
  smg::Resolve resolve;
  smg::Fleet fleet;
};

class Connection {
 public:
  class User {
   public:
    virtual void received(std::string_view bytes) = 0;
    // The last call. `reason`: SMG_END_COMPLETE if the engine closed after all was sent, else why
    // it broke; `detail` says so in words.
    virtual void closed(uint32_t reason, std::string_view detail) = 0;

   protected:
    ~User() = default;
  };

  // `user` must stay until closed() or close().
  static Connection* open(const Services& services, User& user, std::string_view host,
                          uint16_t port);
  // Keeps what cannot be sent yet.
  void send(std::string_view bytes);
  bool any_sent() const { return connected_; }
  void pause() { paused_ = true; }
  void resume();
  void close();

 private:
  Connection(const Services& services, User& user) : services_(services), user_(&user) {}
  static void resolved(void* self, const smg_address* addresses, uint32_t count,
                       smg_view detail) noexcept;
  void try_next();
  bool watched();
  void ready(uint32_t events) noexcept;
  void late() noexcept;
  void read_on() noexcept;
  void bury() noexcept { delete this; }
  bool flush();
  void read();
  void drop_socket();
  void end(uint32_t reason, std::string_view detail);

  const Services& services_;
  User* user_;  // nullptr: closed
  uint64_t resolving_ = 0;
  std::vector<smg_address> addresses_;
  std::size_t next_ = 0;
  std::string failure_;
  std::string unsent_;
  bool connected_ = false;
  bool paused_ = false;
  bool reading_on_ = false;
  smg::Watch<&Connection::ready> watch_{*this};
  smg::Timer<&Connection::late> timer_{*this};
  smg::Task<&Connection::read_on> read_on_{*this};
  smg::Task<&Connection::bury> bury_{*this};
};

}  // namespace plugin
