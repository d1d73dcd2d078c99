// Certificates for workers and the gateway, and a server's TLS context with one of them.
#pragma once

#include <string>

#include "certificates.hpp"

namespace smg::test {

inline const Certificates& certificates() {
  static const Certificates all;
  static const bool issued = [] {
    all.issue("engine", "DNS:engine.test");
    all.issue("address", "IP:127.0.0.1");
    all.issue("client", "DNS:gateway.test");
    all.add_authority("other");
    all.issue("elsewhere", "DNS:engine.test", 2, "other");
    all.issue("stranger", "DNS:gateway.test", 2, "other");
    return true;
  }();
  static_cast<void>(issued);
  return all;
}

struct Tls {
  explicit Tls(const std::string& name) : context(certificates().server(name)) {}
  ~Tls() { SSL_CTX_free(context); }
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;
  SSL_CTX* context;
};

// Asks its clients for a certificate that `authority` signed.
inline void require_client_certificate(SSL_CTX* context, const std::string& authority) {
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_load_verify_file(context, certificates().certificate(authority).c_str());
  static constexpr unsigned char kId[] = "smg";
  SSL_CTX_set_session_id_context(context, kId, sizeof kId);
}

}  // namespace smg::test
