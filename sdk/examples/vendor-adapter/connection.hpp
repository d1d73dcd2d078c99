// One TCP connection to an engine, in frames: four bytes of length, big-endian, and a JSON object.
//
// Non-blocking, on the loop that opened it. Owned by itself: made by open(), gone at the end of the
// turn in which it closed. Its user is told of frames and of the end, never from within open() or
// send(), and after close() of nothing more.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "services.hpp"

namespace acme {

class Connection {
 public:
  class User {
   public:
    virtual void received(const boost::json::object& frame) = 0;
    // The last call. `kind` is SMG_END_CONNECT_FAILED, _CONNECTION_LOST or _BAD_RESPONSE.
    virtual void lost(uint32_t kind, std::string_view why) = 0;

   protected:
    ~User() = default;
  };

  static constexpr std::size_t kLargestFrame = 16 << 20;

  // `user` must stay until lost() or close().
  static Connection* open(const Services& services, User& user, std::string_view host,
                          uint16_t port);
  // Keeps what cannot be sent yet.
  void send(const boost::json::object& frame);
  void close();

 private:
  Connection(const Services& services, User& user) : services_(services), user_(&user) {}
  static void resolved(void* self, const smg_address* addresses, uint32_t count,
                       smg_view detail) noexcept;
  void try_next();
  bool watched();
  void ready(uint32_t events) noexcept;
  void late() noexcept { end(SMG_END_CONNECT_FAILED, failure_); }
  void bury() noexcept { delete this; }
  bool flush();
  void read();
  void take(std::string_view bytes);
  void drop_socket();
  void end(uint32_t kind, std::string_view why);

  const Services& services_;
  User* user_;  // nullptr: closed
  uint64_t resolving_ = 0;
  std::vector<smg_address> addresses_;
  std::size_t next_ = 0;
  std::string failure_;
  std::string unsent_;
  std::string unread_;  // the beginning of a frame
  bool connected_ = false;
  smg::Watch<&Connection::ready> watch_{*this};
  smg::Timer<&Connection::late> timer_{*this};
  smg::Task<&Connection::bury> bury_{*this};
};

}  // namespace acme
