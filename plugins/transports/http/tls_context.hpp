// What TLS connections with the same settings share: trusted authorities, the own certificate,
// protocol versions.
//
// Constant once made, used by all loops. Held by every connection that began with it.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <utility>

#include "settings.hpp"

namespace smg::http {

class TlsContext {
 public:
  // Throws Error with the file at fault.
  explicit TlsContext(const TlsSettings& settings);

  // A connection before its handshake, its bytes going by the socket `fd`. What reads and writes
  // through it sees `last_receive_short` tell whether the socket was drained. nullptr: out of
  // memory.
  SSL* connect(int fd, bool& last_receive_short) const;
  bool verifies() const { return verifies_; }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
  };

  std::unique_ptr<BIO_METHOD, Free> socket_;
  std::unique_ptr<SSL_CTX, Free> context_;
  bool verifies_;
};

// The session a worker gave last, for the next connection to resume. One loop's own.
class TlsTicket {
 public:
  TlsTicket() = default;
  TlsTicket(const TlsTicket&) = delete;
  TlsTicket& operator=(const TlsTicket&) = delete;
  ~TlsTicket() { replace(nullptr, nullptr); }

  // Who was vouched for by other authorities is looked at again.
  SSL_SESSION* session(const TlsContext& of) const { return &of == of_.get() ? session_ : nullptr; }
  void replace(SSL_SESSION* session, std::shared_ptr<const TlsContext> of) {
    if (session_ != nullptr) SSL_SESSION_free(session_);
    session_ = session;
    of_ = std::move(of);
  }

 private:
  SSL_SESSION* session_ = nullptr;
  std::shared_ptr<const TlsContext> of_;
};

// The oldest error of the thread's OpenSSL queue in words, and the queue cleared.
std::string tls_error(const char* otherwise);

}  // namespace smg::http
