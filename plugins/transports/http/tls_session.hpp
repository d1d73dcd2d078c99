// TLS on one connection: handshake with verification of chain and name, then bytes in and out.
// Non-blocking; the owner calls again when the socket is ready. One loop's own; errors are values
// and words.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

#include "tls_context.hpp"
#include "transfer.hpp"

namespace smg::http {

enum class Handshake : uint8_t { going_on, done, failed };

class TlsSession {
 public:
  // `host`: name or literal address that the certificate must be for. `fd` stays the owner's.
  TlsSession(std::shared_ptr<const TlsContext> context, std::string_view host, int fd,
             TlsTicket& ticket);
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;
  ~TlsSession();

  Handshake handshake();
  Transfer receive(char* to, std::size_t size);
  // After `blocked`, call again with the same bytes.
  Transfer send(const char* data, std::size_t size);
  // Everything received is handed out and the socket had no more.
  bool drained() const { return last_receive_short_ && SSL_has_pending(ssl_) == 0; }
  // Tells the peer that the connection ends here, if that can be done at once.
  void say_goodbye();

  // What went wrong, in words; empty: nothing did.
  std::string_view error() const { return error_; }
  void keep(SSL_SESSION* session) { ticket_.replace(session, context_); }

 private:
  Transfer outcome(int result);

  const std::shared_ptr<const TlsContext> context_;
  TlsTicket& ticket_;
  SSL* ssl_;
  bool last_receive_short_ = false;
  std::string error_;
};

}  // namespace smg::http
