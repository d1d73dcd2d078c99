// A TCP server that follows a script, for tests of clients: one function, called for each
// connection on a thread of the server's own. Blocking sockets, every wait bounded by 10 s. TLS
// where given a context.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace smg::test {

// The server's end of one connection.
class Peer {
 public:
  Peer(int fd, int number, SSL_CTX* tls) : fd_(fd), number_(number) {
    const timeval wait{10, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (tls == nullptr) return;
    ssl_ = SSL_new(tls);
    SSL_set_fd(ssl_, fd_);
    if (SSL_accept(ssl_) == 1) return;
    SSL_free(ssl_);
    ssl_ = nullptr;
    close();
  }
  ~Peer() { close(); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  int number() const { return number_; }  // counts connections from 1
  bool resumed() const { return ssl_ != nullptr && SSL_session_reused(ssl_) == 1; }
  bool is_open() const { return fd_ >= 0; }

  // The next request: head and body as they came. Empty: the client closed.
  std::string read_request() {
    std::size_t end = std::string::npos;
    while ((end = pending_.find("\r\n\r\n")) == std::string::npos) {
      if (!receive()) return {};
    }
    std::size_t size = end + 4;
    if (const auto at = pending_.find("Content-Length: "); at < end) {
      size += std::stoul(pending_.substr(at + 16));
    }
    while (pending_.size() < size) {
      if (!receive()) return {};
    }
    const std::string request = pending_.substr(0, size);
    pending_.erase(0, size);
    return request;
  }

  // False: the client has closed.
  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = fd_ < 0 ? -1
                           : ssl_ != nullptr
                               ? SSL_write(ssl_, text.data(), static_cast<int>(text.size()))
                               : ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // Sends without waiting for room. Returns how much went.
  std::size_t send_what_fits(std::string_view text) {
    const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent > 0 ? static_cast<std::size_t>(sent) : 0;
  }

  // Waits for the client to close. True: it did.
  bool wait_closed() {
    while (receive()) {
    }
    return closed_;
  }

  void close() {
    if (ssl_ != nullptr) {
      SSL_shutdown(ssl_);
      SSL_free(ssl_);
      ssl_ = nullptr;
    }
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  void reset() {
    const linger now{1, 0};
    if (fd_ >= 0) setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    if (ssl_ != nullptr) SSL_free(ssl_);
    ssl_ = nullptr;
    close();
  }

 private:
  bool receive() {
    if (fd_ < 0) return false;
    char room[65536];
    const ssize_t got =
        ssl_ != nullptr ? SSL_read(ssl_, room, sizeof room) : ::recv(fd_, room, sizeof room, 0);
    if (got > 0) {
      pending_.append(room, static_cast<std::size_t>(got));
      return true;
    }
    closed_ = ssl_ != nullptr || got == 0 || errno == ECONNRESET;
    return false;
  }

  int fd_;
  int number_;
  SSL* ssl_ = nullptr;
  bool closed_ = false;
  std::string pending_;
};

class ScriptedServer {
 public:
  using Script = std::function<void(Peer&)>;

  explicit ScriptedServer(Script script, SSL_CTX* tls = nullptr, const char* host = "127.0.0.1",
                          std::uint16_t port = 0)
      : script_(std::move(script)), tls_(tls) {
    listen_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(listen_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    inet_pton(AF_INET, host, &at.sin_addr);
    socklen_t size = sizeof at;
    if (bind(listen_, reinterpret_cast<sockaddr*>(&at), size) != 0 || listen(listen_, 512) != 0 ||
        getsockname(listen_, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
      throw std::runtime_error("the scripted server cannot listen");
    }
    port_ = ntohs(at.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~ScriptedServer() {
    stopping_ = true;
    shutdown(listen_, SHUT_RDWR);
    acceptor_.join();
    ::close(listen_);
    for (auto& thread : threads_) thread.join();
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::uint16_t port() const { return port_; }
  int accepted() const { return accepted_; }
  int running() const { return running_; }  // scripts that have not ended

 private:
  void accept_all() {
    while (!stopping_) {
      const int fd = accept4(listen_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      const int number = ++accepted_;
      ++running_;
      threads_.emplace_back([this, fd, number] {
        {
          Peer peer(fd, number, tls_);
          if (peer.is_open()) script_(peer);
        }
        --running_;
      });
    }
  }

  Script script_;
  SSL_CTX* tls_;
  int listen_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<int> accepted_{0};
  std::atomic<int> running_{0};
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// An address where connections neither come about nor fail: its queue is full and nobody accepts.
class BlackHole {
 public:
  explicit BlackHole(const char* host, std::uint16_t port = 0) {
    listen_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at_.sin_family = AF_INET;
    at_.sin_port = htons(port);
    inet_pton(AF_INET, host, &at_.sin_addr);
    socklen_t size = sizeof at_;
    if (bind(listen_, reinterpret_cast<sockaddr*>(&at_), size) != 0 || listen(listen_, 0) != 0 ||
        getsockname(listen_, reinterpret_cast<sockaddr*>(&at_), &size) != 0) {
      throw std::runtime_error("the black hole cannot listen");
    }
    // Connections beyond the queue stay half open: fill it until one does.
    for (int i = 0; i < 16; ++i) {
      const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      fillers_.push_back(fd);
      connect(fd, reinterpret_cast<sockaddr*>(&at_), sizeof at_);
      pollfd ready{fd, POLLOUT, 0};
      if (poll(&ready, 1, 50) == 0) break;
    }
  }
  ~BlackHole() {
    for (const int fd : fillers_) ::close(fd);
    ::close(listen_);
  }
  BlackHole(const BlackHole&) = delete;
  BlackHole& operator=(const BlackHole&) = delete;

  std::uint16_t port() const { return ntohs(at_.sin_port); }

 private:
  int listen_ = -1;
  sockaddr_in at_{};
  std::vector<int> fillers_;
};

}  // namespace smg::test
