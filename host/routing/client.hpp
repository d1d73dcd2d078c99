// The client's side of an exchange, as routing sees it; the listener implements it.
//
// All calls on the loop that owns both. A response is begun once, then has body bytes, then ends or
// is cut.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "smg/abi.h"

namespace smg {

// A worker's answer on its way to the client. Views live for the call.
struct RelayedHead {
  std::uint32_t status = 200;
  std::span<const smg_header> headers = {};  // as the worker sent them
  std::int64_t content_length = -1;          // -1: unknown, the body ends with end_response()
  std::string_view worker_url = {};
  bool event_stream = false;  // the content type is text/event-stream, whatever the worker says
  bool hold = false;          // if possible keep it back until release_response() or the end
};

// An answer made here, complete. `type` empty: no content type.
struct MadeReply {
  std::uint32_t status = 200;
  std::string_view content_type = {};
  std::string_view body = {};
  std::string_view error_code = {};     // empty: no X-SMG-Error-Code
  std::string_view worker_url = {};     // empty: no x-smg-routed-worker-id
  std::string_view extra_headers = {};  // whole lines, each with CRLF
  bool close = false;                   // the connection ends with it
};

class Client {
 public:
  // True if it is held: then, and until released, take_back_response() is possible.
  virtual bool begin_response(const RelayedHead& head) = 0;
  // False: enough for now; more is kept, but the sender should pause until client_drained().
  virtual bool send_body(std::string_view data) = 0;
  virtual void end_response() = 0;
  // A held response goes out from here on.
  virtual void release_response() = 0;
  // Takes back a held response, as if it had never begun.
  virtual void take_back_response() = 0;
  // Ends the connection so that what was sent can not be mistaken for a whole answer.
  virtual void cut_response() = 0;
  virtual void reply(const MadeReply& reply) = 0;

 protected:
  ~Client() = default;
};

}  // namespace smg
