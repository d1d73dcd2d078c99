// One request and its answer: the stream of the ABI. Holds the connection or, before there is one,
// the dial.
//
// Sink calls may come back with cancel() or a new start() at once: after one, whoever called it
// looks at his connection first (Connection::is_open) and touches the exchange only if that is
// still open.
#pragma once

#include <cstdint>
#include <string_view>

#include "smg/cpp/http1.hpp"
#include "smg/transport.h"

namespace smg::http {

class Connection;
class Dial;
class Endpoint;
struct LoopState;

class Exchange final : private smg_timer {
 public:
  Exchange();

  // The table's.
  uint32_t slot = 0;
  uint32_t generation = 1;
  Exchange* next_free = nullptr;

  // `*stream` is set before the first sink call, which may come from within.
  static void start(LoopState& loop, Endpoint& endpoint, const smg_request& request,
                    const smg_sink& sink, uint64_t ticket, uint64_t* stream);
  void pause() { paused_ = true; }
  void resume();
  void cancel();

  // From the dial.
  void connected(Connection& connection);

  // From the connection.
  const smg_request& request() const {
    return *request_;
  }  // until it is written and not to be resent
  bool paused() const { return paused_; }
  bool answered() const { return answered_; }
  void bytes_sent() {
    if (phase_ == SMG_PHASE_CONNECT) phase_ = SMG_PHASE_SENT;
  }
  void bytes_received() {
    if (!answered_) first_byte();
  }
  void request_written(bool reused);
  void deliver(const http1::ResponseHead& head);
  void deliver(std::string_view data);
  // Sends the request again over a new connection. False: it must not be.
  bool resend();

  // From either: the last that happens.
  void end(uint32_t kind, std::string_view detail);

 private:
  static void deadline_passed(smg_timer* timer);
  void dial();
  void first_byte();
  void release_request();
  void detach();

  LoopState* loop_ = nullptr;
  Endpoint* endpoint_ = nullptr;
  const smg_request* request_ = nullptr;
  const smg_sink* sink_ = nullptr;
  uint64_t ticket_ = 0;
  Connection* connection_ = nullptr;
  Dial* dial_ = nullptr;
  uint8_t phase_ = SMG_PHASE_CONNECT;
  uint8_t resends_ = 0;
  bool paused_ = false;
  bool answered_ = false;
  bool written_ = false;
  bool may_resend_ = false;
};

}  // namespace smg::http
