#include "host/tls/tls_stream.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>

namespace smg {

// A BIO over a socket as OpenSSL's own, but its writes raise no SIGPIPE, it notes when the socket
// is drained, and it sees by the first byte that a client speaks HTTP without TLS.
struct TlsStream::Socket {
  static int write(BIO* bio, const char* data, int size) {
    const auto& stream = *static_cast<const TlsStream*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    const ssize_t sent = ::send(stream.fd_, data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
    return static_cast<int>(sent);
  }

  static int read(BIO* bio, char* to, int size) {
    auto& stream = *static_cast<TlsStream*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    const ssize_t got = ::recv(stream.fd_, to, static_cast<std::size_t>(size), 0);
    stream.last_receive_short_ = got < size && got != 0;
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
    if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    if (got > 0 && !stream.any_received_) {
      stream.any_received_ = true;
      if (*to >= 'A' && *to <= 'Z') {
        stream.plain_http_ = true;
        return -1;
      }
    }
    return static_cast<int>(got);
  }

  static long control(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }

  static const BIO_METHOD* method() {
    struct Free {
      void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
    };
    static const std::unique_ptr<BIO_METHOD, Free> kMethod = [] {
      std::unique_ptr<BIO_METHOD, Free> method(
          BIO_meth_new(BIO_TYPE_SOURCE_SINK | 0x7f, "client's socket"));
      if (method != nullptr) {
        BIO_meth_set_write(method.get(), write);
        BIO_meth_set_read(method.get(), read);
        BIO_meth_set_ctrl(method.get(), control);
      }
      return method;
    }();
    return kMethod.get();
  }
};

TlsStream::TlsStream(const ServerTls& tls, int fd) : tls_(tls), fd_(fd) {
  ERR_clear_error();
  SSL* ssl = SSL_new(tls.context().get());
  BIO* bio = BIO_new(Socket::method());
  if (ssl == nullptr || bio == nullptr) {
    SSL_free(ssl);
    BIO_free(bio);
    return;
  }
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl, bio, bio);
  SSL_set_accept_state(ssl);
  ssl_ = ssl;
}

TlsStream::~TlsStream() {
  if (any_received_ && !plain_http_) count_handshake(false);
  SSL_free(ssl_);
}

void TlsStream::count_handshake(bool success) {
  if (counted_) return;
  counted_ = true;
  (success ? tls_.succeeded() : tls_.failed()).add();
}

TlsStream::Outcome TlsStream::read(char* to, std::size_t size) {
  if (ssl_ == nullptr) return {State::failed};
  ERR_clear_error();
  wants_write_ = false;
  if (!established_) {
    const int result = SSL_do_handshake(ssl_);
    if (plain_http_) return {State::plain_http};
    if (result != 1) return read_outcome(result);
    established_ = true;
    count_handshake(true);
  }
  std::size_t got = 0;
  const int result = SSL_read_ex(ssl_, to, size, &got);
  return result == 1 ? Outcome{State::moved, drained(), got} : read_outcome(result);
}

TlsStream::Outcome TlsStream::read_outcome(int result) {
  wants_write_ = SSL_want_write(ssl_);
  return outcome(result);
}

TlsStream::Outcome TlsStream::write(const char* data, std::size_t size) {
  if (!established_) return {ssl_ == nullptr ? State::failed : State::blocked};
  ERR_clear_error();
  std::size_t sent = 0;
  // A call takes one record at the most.
  while (sent < size) {
    std::size_t taken = 0;
    const int result = SSL_write_ex(ssl_, data + sent, size - sent, &taken);
    if (result != 1) {
      if (sent > 0) break;  // the next call meets it again
      return outcome(result);
    }
    sent += taken;
  }
  return {State::moved, false, sent};
}

bool TlsStream::drained() const {
  return last_receive_short_ && SSL_has_pending(ssl_) == 0;
}

bool TlsStream::verified_client() const {
  return established_ && SSL_get0_peer_certificate(ssl_) != nullptr &&
         SSL_get_verify_result(ssl_) == X509_V_OK;
}

bool TlsStream::send_close_notify() {
  if (!established_ || said_goodbye_) return true;
  ERR_clear_error();
  const int result = SSL_shutdown(ssl_);
  said_goodbye_ = result >= 0 || outcome(result).state != State::blocked;
  return said_goodbye_;
}

TlsStream::Outcome TlsStream::outcome(int result) {
  const int error = SSL_get_error(ssl_, result);
  const bool ended = error == SSL_ERROR_SSL &&
                     ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
  ERR_clear_error();
  switch (error) {
    case SSL_ERROR_WANT_WRITE:
    case SSL_ERROR_WANT_READ:
      return {State::blocked};
    case SSL_ERROR_ZERO_RETURN:
      return {State::closed};
    default:
      return {ended ? State::closed : State::failed};
  }
}

}  // namespace smg
