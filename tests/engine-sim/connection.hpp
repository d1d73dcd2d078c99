#pragma once
// One accepted connection: reads requests, one at a time, and sends what the service answers. The
// answer to a request is complete when its last byte is with the kernel; a peer that goes away
// before that has aborted it. On the loop thread; owned by its Port and destroyed at the end of the
// turn in which it closes.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "fault.hpp"
#include "loop.hpp"
#include "request_reader.hpp"
#include "socket.hpp"

namespace smg::sim {

class Connection;

// An answer that takes more than one turn. Lives until the answer is complete or the connection
// closes, whichever is first.
class Exchange : public Loop::Retired {
 public:
  // The connection is gone or the answer complete: let go of everything that could call back.
  virtual void stop() {}
  // Everything sent so far is with the kernel and the answer has not ended: append more, or nothing
  // to be asked no more.
  virtual void refill(std::string&) {}
};

enum class AbortKind : std::uint8_t { Closed, Reset };

class Service {
 public:
  // The head of a request is read, its body may not be. May answer at once with `early_reply`.
  virtual void head_read(Connection& connection) = 0;
  virtual void request_read(Connection& connection) = 0;
  virtual void request_refused(Connection& connection, const std::string& reason) = 0;
  virtual void reply_sent(Connection& connection) = 0;
  // The peer went away in the middle of a request or before the answer was complete.
  virtual void peer_left(Connection& connection, AbortKind kind) = 0;
  virtual void closed(Connection& connection) = 0;

 protected:
  ~Service() = default;
};

class Connection final : public Loop::Watcher, public Loop::Retired {
 public:
  Connection(Loop& loop, Socket socket, Service& service, std::uint64_t id);

  void start();
  Loop& loop() { return loop_; }
  std::uint64_t id() const { return id_; }
  const Request& request() const { return reader_.request(); }
  // The current or the next request of this connection, counted from 0.
  std::uint64_t request_index() const { return request_index_; }
  bool replying() const { return replying_; }
  std::uint64_t bytes_sent() const { return bytes_sent_; }
  bool is_closed() const { return closed_; }

  // What the service keeps for the current request.
  std::unique_ptr<Effects> effects;
  std::uint64_t journal_entry = 0;  // 0 = none yet

  // Answering; all of them only between head_read or request_read and reply_sent.
  void send(std::string_view bytes);
  void set_exchange(std::unique_ptr<Exchange> exchange);
  Exchange* exchange() { return exchange_.get(); }
  void end_reply(bool keep_alive);
  // Closes after what is sent has gone out, though the answer is not complete.
  void cut(bool reset);
  // As end_reply(false), from head_read: what still comes of the request is thrown away.
  void end_early(bool abrupt);
  // Asks the exchange for bytes as soon as nothing is left to send.
  void pull() { flush(); }
  void stop_reading() { reading_ = false; }
  // Closes a connection that waits for a request, `after_ms` from now; negative: never.
  void set_idle_limit(std::int64_t after_ms);
  void close(bool reset);

  void ready(std::uint32_t events) override;

 private:
  enum class After : std::uint8_t { Next, Close, Reset, Linger };
  static constexpr std::size_t kMaxAhead = 256 * 1024;
  static constexpr std::size_t kRefillPerTurn = 4 << 20;

  void read(std::uint32_t events);
  void consume(std::string_view input);
  void process(std::string_view& input);
  void peer_gone(AbortKind kind);
  void flush();
  void flush_paced();
  bool send_some(std::string_view bytes, std::size_t& sent);
  void drained();
  void next_request();
  void watch_idle();
  static void timer_fired(void* self);

  Loop& loop_;
  Socket socket_;
  Service& service_;
  std::uint64_t id_;
  RequestReader reader_;
  std::string ahead_;  // read, but belongs to the next request
  std::string out_;
  std::size_t out_begin_ = 0;
  std::unique_ptr<Exchange> exchange_;
  Timer timer_;  // the next paced write, or the end of idleness or lingering
  std::uint64_t request_index_ = 0;
  std::uint64_t bytes_sent_ = 0;
  std::int64_t idle_limit_ms_ = -1;
  bool replying_ = false;
  bool reply_ended_ = false;
  bool processing_ = false;
  bool reading_ = true;
  bool discarding_ = false;
  bool closed_ = false;
  After after_ = After::Next;
};

}  // namespace smg::sim
