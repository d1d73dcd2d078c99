#include "tls_context.hpp"

#include <openssl/err.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "tls_session.hpp"

namespace smg::http {
namespace {

// A BIO over a socket as OpenSSL's own, but its writes raise no SIGPIPE, and it notes when the
// socket is drained.
struct Socket {
  int fd;
  bool* last_receive_short;
};

int write_socket(BIO* bio, const char* data, int size) {
  const auto& socket = *static_cast<Socket*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const ssize_t sent = ::send(socket.fd, data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int read_socket(BIO* bio, char* to, int size) {
  const auto& socket = *static_cast<Socket*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const ssize_t got = ::recv(socket.fd, to, static_cast<std::size_t>(size), 0);
  *socket.last_receive_short = got < size && got != 0;
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(got);
}

long control_socket(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

int free_socket(BIO* bio) {
  delete static_cast<Socket*>(BIO_get_data(bio));
  return 1;
}

int keep_session(SSL* ssl, SSL_SESSION* session) {
  static_cast<TlsSession*>(SSL_get_app_data(ssl))->keep(session);
  return 1;
}

Error refused(const std::string& what, const std::string& value) {
  return {SMG_E_INVALID, "cannot use `" + value + "` as " + what + ": " +
                             tls_error("it is not what it should be") +
                             "; it must be a readable PEM file"};
}

// A key that needs a password is refused; OpenSSL would ask for it at the terminal.
int no_password(char*, int, int, void*) {
  return -1;
}

}  // namespace

std::string tls_error(const char* otherwise) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return otherwise;
  if (ERR_SYSTEM_ERROR(code)) return std::strerror(ERR_GET_REASON(code));
  if (const char* reason = ERR_reason_error_string(code); reason != nullptr) return reason;
  char room[160];
  ERR_error_string_n(code, room, sizeof room);
  return room;
}

TlsContext::TlsContext(const TlsSettings& settings)
    : socket_(BIO_meth_new(BIO_TYPE_SOURCE_SINK | 0x7f, "socket")),
      context_(SSL_CTX_new(TLS_client_method())),
      verifies_(!settings.insecure) {
  if (socket_ == nullptr || context_ == nullptr) {
    throw Error(SMG_E_INTERNAL, "TLS cannot be set up: " + tls_error("out of memory"));
  }
  BIO_meth_set_write(socket_.get(), write_socket);
  BIO_meth_set_read(socket_.get(), read_socket);
  BIO_meth_set_ctrl(socket_.get(), control_socket);
  BIO_meth_set_destroy(socket_.get(), free_socket);

  SSL_CTX* context = context_.get();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context, 1);
  static constexpr unsigned char kProtocols[] = "\x08http/1.1";
  SSL_CTX_set_alpn_protos(context, kProtocols, sizeof kProtocols - 1);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(context, keep_session);
  SSL_CTX_set_default_passwd_cb(context, no_password);
  SSL_CTX_set_verify(context, verifies_ ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);

  ERR_clear_error();
  if (settings.ca_files.empty() && settings.ca_path.empty()) {
    SSL_CTX_set_default_verify_paths(context);
    ERR_clear_error();
  }
  for (const auto& file : settings.ca_files) {
    if (SSL_CTX_load_verify_file(context, file.c_str()) != 1)
      throw refused("ca_file (of one worker: tls.ca_cert_paths)", file);
  }
  if (!settings.ca_path.empty() &&
      SSL_CTX_load_verify_dir(context, settings.ca_path.c_str()) != 1) {
    throw refused("ca_path", settings.ca_path);
  }
  if (settings.client_cert.empty()) return;
  if (SSL_CTX_use_certificate_chain_file(context, settings.client_cert.c_str()) != 1) {
    throw refused("client_cert (of one worker: tls.client_cert_path)", settings.client_cert);
  }
  if (SSL_CTX_use_PrivateKey_file(context, settings.client_key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    throw refused("client_key (of one worker: tls.client_key_path)", settings.client_key);
  }
}

SSL* TlsContext::connect(int fd, bool& last_receive_short) const {
  SSL* ssl = SSL_new(context_.get());
  BIO* bio = BIO_new(socket_.get());
  if (ssl == nullptr || bio == nullptr) {
    SSL_free(ssl);
    BIO_free(bio);
    return nullptr;
  }
  BIO_set_data(bio, new Socket{fd, &last_receive_short});
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl, bio, bio);
  SSL_set_connect_state(ssl);
  return ssl;
}

}  // namespace smg::http
