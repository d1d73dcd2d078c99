// What one loop keeps for the transport: running exchanges, memory for connections, and room to
// hand a head over.
#pragma once

#include <array>

#include "connection.hpp"
#include "dial.hpp"
#include "exchange_table.hpp"
#include "freelist.hpp"
#include "services.hpp"
#include "smg/cpp/http1.hpp"
#include "smg/transport.h"

namespace smg::http {

class Transport;

struct LoopState {
  LoopState(Transport& owner, uint32_t loop);

  Transport& transport;
  const Services& services;
  const Settings& settings;
  const uint32_t index;
  ExchangeTable exchanges;
  Freelist<Connection> connections;
  Freelist<Dial> dials;
  http1::ResponseScratch parsed;                      // the head under the parser's hands
  std::array<smg_header, http1::kMaxFields> headers;  // the same, as the sink takes it
};

}  // namespace smg::http
