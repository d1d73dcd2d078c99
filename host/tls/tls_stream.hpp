// The server's side of one TLS connection: handshake, then bytes in and out. Non-blocking; the
// owner calls again when the socket is ready.
//
// One loop's own. Errors are values.
#pragma once

#include <openssl/types.h>

#include <cstddef>
#include <cstdint>

#include "host/tls/server_tls.hpp"

namespace smg {

class TlsStream {
 public:
  enum class State : std::uint8_t {
    moved,       // `bytes` of them
    blocked,     // nothing now; the loop tells when
    closed,      // the peer sends no more
    failed,      // the connection is of no use any more
    plain_http,  // the first bytes, which are dropped, were a request without TLS
  };
  struct Outcome {
    State state;
    // Of a read that moved bytes: there was no more. Else read again, no event would come.
    bool drained = false;
    std::size_t bytes = 0;
  };

  // `fd` stays the owner's.
  TlsStream(const ServerTls& tls, int fd);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // Goes on with the handshake as long as there is one.
  Outcome read(char* to, std::size_t size);
  // After `blocked`, the next call has to begin with the same bytes and to be no shorter.
  Outcome write(const char* data, std::size_t size);
  bool established() const { return established_; }
  // A read waits for room in the socket.
  bool wants_write() const { return wants_write_; }
  bool verified_client() const;
  // False: the socket has no room for it.
  bool send_close_notify();

 private:
  struct Socket;
  Outcome outcome(int result);
  Outcome read_outcome(int result);
  void count_handshake(bool success);
  // Everything received is handed out and the socket had no more.
  bool drained() const;

  const ServerTls& tls_;
  SSL* ssl_ = nullptr;
  int fd_;
  bool last_receive_short_ = false;
  bool any_received_ = false;
  bool plain_http_ = false;
  bool established_ = false;
  bool wants_write_ = false;
  bool counted_ = false;  // the handshake
  bool said_goodbye_ = false;
};

}  // namespace smg
