// A new connection to a worker for one exchange: resolve the name, then try its addresses as RFC
// 8305 has it.
//
// Families take turns, a next address is tried when the last has failed or kept us waiting for 250
// ms, the first that connects wins and the others are closed; with TLS the winner then shakes
// hands. All within the connect timeout. Ends by Exchange::connected() or Exchange::end(), after
// which the dial is gone.
#pragma once

#include <array>
#include <string_view>

#include "connection_list.hpp"
#include "smg/host.h"

namespace smg::http {

class Endpoint;
class Exchange;
struct LoopState;

class Dial final : private smg_timer {
 public:
  Dial(LoopState& loop, Endpoint& endpoint, Exchange& exchange);
  Dial(const Dial&) = delete;
  Dial& operator=(const Dial&) = delete;

  // May end from within.
  void start();
  // The exchange has no more use for it. Tells nobody.
  void abort();

  // From the connections on trial.
  void attempt_connected(Connection& connection);
  void attempt_failed(Connection& connection, int error);
  void handshake_done(Connection& connection);
  void handshake_failed(Connection& connection, std::string_view why);

 private:
  static constexpr uint32_t kMostAddresses = 16;

  static void resolved(void* context, const smg_address* addresses, uint32_t count,
                       smg_view detail);
  static void timer_fired(smg_timer* timer);
  void adopt(const smg_address* addresses, uint32_t count);
  void try_next();
  void arm();
  void drop_attempts();
  void finish();
  void fail(uint32_t kind, std::string_view detail);
  void fail_to_connect();

  LoopState& loop_;
  Endpoint& endpoint_;
  Exchange& exchange_;
  uint64_t deadline_;
  uint64_t next_try_ = 0;   // when not waiting any longer for the last one
  uint64_t resolving_ = 0;  // handle
  ConnectionList attempts_;
  uint32_t count_ = 0;
  uint32_t next_ = 0;
  int last_error_ = 0;
  bool shaking_hands_ = false;
  std::array<smg_address, kMostAddresses> addresses_;
};

}  // namespace smg::http
