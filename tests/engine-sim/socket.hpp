#pragma once
// A non-blocking TCP socket, plain or with TLS, and the calls that make one. The handshake happens
// inside the first receive and send calls. Owns its fd.

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace smg::sim {

struct IoResult {
  enum class Kind { Done, WouldBlock, End, Failed };
  Kind kind;
  std::size_t bytes;
};

// The certificate and key that every engine of this process serves https with.
class TlsContext {
 public:
  // Throws std::runtime_error naming the file that cannot be used.
  TlsContext(const std::string& certificate_file, const std::string& key_file);
  SSL* new_session(int fd) const;

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  std::unique_ptr<SSL_CTX, Free> context_;
};

class Socket {
 public:
  explicit Socket(int fd, SSL* tls = nullptr) : fd_(fd), tls_(tls) {}
  Socket(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { close(false); }

  int fd() const { return fd_; }
  bool tls() const { return tls_ != nullptr; }
  IoResult receive(char* data, std::size_t size);
  IoResult send(std::string_view data);
  // FIN, the receiving side stays open.
  void shut_down_sending();
  // With reset: RST instead of FIN.
  void close(bool reset);

 private:
  IoResult tls_result(int result) const;
  int fd_;
  SSL* tls_;
};

// Opens a listening socket; port 0 lets the kernel choose. Throws std::runtime_error naming the
// address. `host` is an IPv4 or IPv6 address without brackets.
int open_listener(const std::string& host, std::uint16_t port);
std::uint16_t local_port(int fd);
// host:port as it stands in a URL.
std::string authority(const std::string& host, std::uint16_t port);

}  // namespace smg::sim
