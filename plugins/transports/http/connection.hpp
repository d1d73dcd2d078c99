// One TCP connection to a worker, with or without TLS: first dialled, then used by one exchange
// after the other and idle in between.
//
// Non-blocking, on one loop, registered there once. Received bytes are parsed where the loop's
// scratch buffer holds them and handed on as views; the request is sent from where its owner keeps
// it. close() may come from inside any call-back: the memory stays until the end of the turn.
#pragma once

#include <memory>
#include <optional>

#include "connection_list.hpp"
#include "kept_bytes.hpp"
#include "smg/cpp/http1.hpp"
#include "smg/transport.h"
#include "tls_session.hpp"

namespace smg::http {

class Dial;
class Endpoint;
class Exchange;
struct LoopState;

class Connection final : private smg_watch, private smg_task {
 public:
  Connection(LoopState& loop, Endpoint& endpoint);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  ConnectionLink link;

  // Begins to connect for `dial`, which hears how it went. Returns 0 or an errno value.
  int connect(const smg_address& address, Dial& dial);
  // Begins the TLS handshake; `dial` hears how it went, perhaps from within.
  void begin_handshake();

  // Carries an exchange. `reused`: it has carried another before.
  void use(Exchange& exchange, bool reused);
  // The exchange takes data again. Reading goes on at the end of the turn.
  void resume();

  void become_idle(uint64_t now);
  // Nothing has come on this idle connection, not even its end.
  bool is_quiet();
  uint64_t idle_since() const { return idle_since_; }

  bool is_open() const { return state_ != State::closed; }
  // Idempotent. Tells nobody.
  void close();

 private:
  enum class State : uint8_t { connecting, handshaking, busy, idle, closed };
  enum class Parsed : uint8_t { all, stopped };

  static void on_ready(smg_watch* watch, uint32_t events);
  static void on_task(smg_task* task);
  void advance(uint32_t events);
  void finish_connect(uint32_t events);
  void handshake();
  void check_idle(uint32_t events);

  void write_request();
  Transfer send_some(const smg_request& request);

  void read();
  void read_later();
  Parsed parse(char* data, std::size_t& have);
  void end_of_stream();
  void finish(std::size_t left_over);
  void fail(uint32_t kind, std::string_view detail);
  void lose(int error);

  LoopState& loop_;
  Endpoint& endpoint_;
  Exchange* exchange_ = nullptr;
  Dial* dial_ = nullptr;
  std::unique_ptr<TlsSession> tls_;
  uint64_t idle_since_ = 0;
  uint64_t sent_ = 0;  // of head and body together
  uint32_t head_size_ = 0;
  State state_ = State::connecting;
  bool reused_ = false;
  bool written_ = false;  // the whole request
  bool write_failed_ = false;
  bool hangup_ = false;       // the peer will send no more than what is there
  bool drained_ = true;       // nothing is left to receive, as far as events tell
  bool parse_first_ = false;  // kept bytes were held back by a pause
  bool http10_ = false;
  bool read_wanted_ = false;
  bool task_pending_ = false;
  KeptBytes kept_;
  std::optional<http1::ResponseParser> parser_;
};

}  // namespace smg::http
