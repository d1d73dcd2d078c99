#include "tls_session.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

namespace smg::http {
namespace {

bool is_address(const std::string& host) {
  unsigned char room[16];
  return inet_pton(AF_INET, host.c_str(), room) == 1 ||
         inet_pton(AF_INET6, host.c_str(), room) == 1;
}

}  // namespace

TlsSession::TlsSession(std::shared_ptr<const TlsContext> context, std::string_view host, int fd,
                       TlsTicket& ticket)
    : context_(std::move(context)),
      ticket_(ticket),
      ssl_(context_->connect(fd, last_receive_short_)) {
  if (ssl_ == nullptr) {
    error_ = "out of memory";
    return;
  }
  SSL_set_app_data(ssl_, this);
  const std::string name(host);
  if (is_address(name)) {
    if (context_->verifies()) X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), name.c_str());
  } else {
    SSL_set_tlsext_host_name(ssl_, name.c_str());
    if (context_->verifies()) SSL_set1_host(ssl_, name.c_str());
  }
  if (auto* session = ticket.session(*context_); session != nullptr) SSL_set_session(ssl_, session);
}

TlsSession::~TlsSession() {
  if (ssl_ == nullptr) return;
  // Without this a connection that is cut would make its session look unfit for resumption.
  SSL_set_shutdown(ssl_, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  SSL_free(ssl_);
}

Handshake TlsSession::handshake() {
  if (ssl_ == nullptr) return Handshake::failed;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  if (result == 1) return Handshake::done;
  const Transfer state = outcome(result);
  if (state.state == Transfer::State::blocked) return Handshake::going_on;
  if (const long verdict = SSL_get_verify_result(ssl_);
      verdict != X509_V_OK && (SSL_get_verify_mode(ssl_) & SSL_VERIFY_PEER) != 0) {
    error_ = std::string("the certificate is refused: ") + X509_verify_cert_error_string(verdict);
    // What it offered is not to be trusted later either.
    ticket_.replace(nullptr, nullptr);
  } else if (error_.empty()) {
    error_ = "the peer ended the handshake";
  }
  return Handshake::failed;
}

Transfer TlsSession::receive(char* to, std::size_t size) {
  ERR_clear_error();
  std::size_t got = 0;
  const int result = SSL_read_ex(ssl_, to, size, &got);
  return result == 1 ? Transfer::moved(got) : outcome(result);
}

Transfer TlsSession::send(const char* data, std::size_t size) {
  ERR_clear_error();
  std::size_t sent = 0;
  const int result = SSL_write_ex(ssl_, data, size, &sent);
  return result == 1 ? Transfer::moved(sent) : outcome(result);
}

void TlsSession::say_goodbye() {
  ERR_clear_error();
  SSL_shutdown(ssl_);
  ERR_clear_error();
}

Transfer TlsSession::outcome(int result) {
  const int cause = errno;
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return Transfer::blocked();
    case SSL_ERROR_ZERO_RETURN:
      return Transfer::ended();
    case SSL_ERROR_SYSCALL:
      ERR_clear_error();
      if (cause != 0) error_ = std::strerror(cause);
      return Transfer::failed(cause != 0 ? cause : ECONNRESET);
    default:
      error_ = tls_error("protocol error");
      return Transfer::failed(EPROTO);
  }
}

}  // namespace smg::http
