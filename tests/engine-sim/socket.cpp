#include "socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace smg::sim {

namespace {

int choose_http11(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                  unsigned int in_size, void*) {
  static constexpr unsigned char kProtocols[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, kProtocols, sizeof kProtocols - 1, in, in_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

TlsContext::TlsContext(const std::string& certificate_file, const std::string& key_file)
    : context_(SSL_CTX_new(TLS_server_method())) {
  if (context_ == nullptr) throw std::runtime_error("cannot create a TLS context");
  if (SSL_CTX_use_certificate_chain_file(context_.get(), certificate_file.c_str()) != 1) {
    throw std::runtime_error("cannot use '" + certificate_file +
                             "' as --tls-cert: expected a PEM certificate chain");
  }
  if (SSL_CTX_use_PrivateKey_file(context_.get(), key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    throw std::runtime_error("cannot use '" + key_file +
                             "' as --tls-key: expected the PEM key of the certificate");
  }
  SSL_CTX_set_mode(context_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                       SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(context_.get(), choose_http11, nullptr);
}

SSL* TlsContext::new_session(int fd) const {
  SSL* session = SSL_new(context_.get());
  if (session == nullptr) throw std::bad_alloc();
  SSL_set_fd(session, fd);
  SSL_set_accept_state(session);
  return session;
}

Socket::Socket(Socket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), tls_(std::exchange(other.tls_, nullptr)) {}

IoResult Socket::tls_result(int result) const {
  const int error = SSL_get_error(tls_, result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    return {IoResult::Kind::WouldBlock, 0};
  }
  if (error == SSL_ERROR_ZERO_RETURN) return {IoResult::Kind::End, 0};
  const bool unannounced_end =
      ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
  return {unannounced_end ? IoResult::Kind::End : IoResult::Kind::Failed, 0};
}

IoResult Socket::receive(char* data, std::size_t size) {
  if (tls_ != nullptr) {
    ERR_clear_error();
    const int result = SSL_read(tls_, data, static_cast<int>(std::min<std::size_t>(size, INT_MAX)));
    if (result > 0) return {IoResult::Kind::Done, static_cast<std::size_t>(result)};
    return tls_result(result);
  }
  while (true) {
    const ssize_t result = ::recv(fd_, data, size, 0);
    if (result > 0) return {IoResult::Kind::Done, static_cast<std::size_t>(result)};
    if (result == 0) return {IoResult::Kind::End, 0};
    if (errno == EINTR) continue;
    return {errno == EAGAIN ? IoResult::Kind::WouldBlock : IoResult::Kind::Failed, 0};
  }
}

IoResult Socket::send(std::string_view data) {
  if (tls_ != nullptr) {
    ERR_clear_error();
    const int result =
        SSL_write(tls_, data.data(), static_cast<int>(std::min<std::size_t>(data.size(), INT_MAX)));
    if (result > 0) return {IoResult::Kind::Done, static_cast<std::size_t>(result)};
    return tls_result(result);
  }
  while (true) {
    const ssize_t result = ::send(fd_, data.data(), data.size(), MSG_NOSIGNAL);
    if (result >= 0) return {IoResult::Kind::Done, static_cast<std::size_t>(result)};
    if (errno == EINTR) continue;
    return {errno == EAGAIN ? IoResult::Kind::WouldBlock : IoResult::Kind::Failed, 0};
  }
}

void Socket::shut_down_sending() {
  if (tls_ != nullptr) {
    ERR_clear_error();
    SSL_shutdown(tls_);
  }
  ::shutdown(fd_, SHUT_WR);
}

void Socket::close(bool reset) {
  if (fd_ < 0) return;
  if (reset) {
    const linger at_once{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  if (tls_ != nullptr) {
    if (!reset && SSL_is_init_finished(tls_) == 1) {
      ERR_clear_error();
      SSL_shutdown(tls_);
    }
    SSL_free(std::exchange(tls_, nullptr));
  }
  ::close(std::exchange(fd_, -1));
}

int open_listener(const std::string& host, std::uint16_t port) {
  const std::string where = authority(host, port);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    throw std::runtime_error("cannot listen on '" + where +
                             "': --host must be an IPv4 or IPv6 address");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> address(found, freeaddrinfo);
  const int fd =
      ::socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  const int on = 1;
  if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (fd < 0 || ::bind(fd, address->ai_addr, address->ai_addrlen) != 0 || ::listen(fd, 4096) != 0) {
    const std::string why = std::strerror(errno);
    if (fd >= 0) ::close(fd);
    throw std::runtime_error("cannot listen on '" + where + "': " + why);
  }
  return fd;
}

std::uint16_t local_port(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

std::string authority(const std::string& host, std::uint16_t port) {
  const bool six = host.find(':') != std::string::npos;
  return (six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace smg::sim
