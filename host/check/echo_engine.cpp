#include "host/check/echo_engine.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>

#include "host/base/views.hpp"

namespace smg::check {
namespace {

constexpr std::string_view kChunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool receive(int fd, std::string& bytes) {
  std::array<char, 16384> room;
  const ssize_t size = recv(fd, room.data(), room.size(), 0);
  if (size > 0) bytes.append(room.data(), static_cast<std::size_t>(size));
  return size > 0;
}

std::size_t content_length(std::string_view head) {
  constexpr std::string_view kName = "content-length:";
  std::size_t size = 0;
  for (auto at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at + 2)) {
    auto line = head.substr(at + 2);
    if (line.size() < kName.size() || !equals_ignoring_case(line.substr(0, kName.size()), kName)) {
      continue;
    }
    line.remove_prefix(kName.size());
    while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    std::from_chars(line.data(), line.data() + line.size(), size);
  }
  return size;
}

std::string with_length(std::string_view status, std::string_view body) {
  return "HTTP/1.1 " + std::string(status) +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + std::string(body);
}

}  // namespace

EchoEngine::EchoEngine() {
  listen_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (bind(listen_, raw, size) == 0 && listen(listen_, 512) == 0 &&
      getsockname(listen_, raw, &size) == 0) {
    port_ = ntohs(address.sin_port);
  }
  acceptor_ = std::thread([this] { accept_all(); });
}

EchoEngine::~EchoEngine() {
  stopping_ = true;
  shutdown(listen_, SHUT_RDWR);
  acceptor_.join();
  close(listen_);
  {
    const std::lock_guard lock(mutex_);
    for (const auto& each : connections_) {
      if (each.open) shutdown(each.fd, SHUT_RDWR);
    }
  }
  for (auto& each : connections_) each.thread.join();
}

void EchoEngine::accept_all() {
  while (!stopping_) {
    const int fd = accept4(listen_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::lock_guard lock(mutex_);
    // A thread that has ended keeps its stack until it is joined.
    connections_.remove_if([](Connection& each) {
      if (each.open) return false;
      each.thread.join();
      return true;
    });
    Connection& connection = connections_.emplace_back();
    connection.fd = fd;
    connection.thread = std::thread([this, &connection] {
      serve(connection.fd);
      const std::lock_guard closing(mutex_);
      close(connection.fd);
      connection.open = false;
    });
  }
}

void EchoEngine::serve(int fd) {
  std::string bytes;
  for (;;) {
    std::size_t end = std::string::npos;
    while ((end = bytes.find("\r\n\r\n")) == std::string::npos) {
      if (!receive(fd, bytes)) return;
    }
    const std::string head = bytes.substr(0, end + 2);
    const std::size_t whole = end + 4 + content_length(head);
    while (bytes.size() < whole) {
      if (!receive(fd, bytes)) return;
    }
    const auto from = head.find(' ') + 1;
    const std::string path = head.substr(from, head.find(' ', from) - from);
    const std::string body = bytes.substr(end + 4, whole - end - 4);
    bytes.erase(0, whole);
    if (!answer(fd, path, body)) return;
  }
}

bool EchoEngine::answer(int fd, std::string_view path, std::string_view body) {
  if (path == "/health") return send_all(fd, with_length("200 OK", "{}"));
  if (path == "/v1/models") {
    return send_all(fd, with_length("200 OK", R"({"object":"list","data":[{"id":"check"}]})"));
  }
  if (path == "/check/echo") return send_all(fd, with_length("200 OK", body));
  if (path == "/check/empty") return send_all(fd, with_length("200 OK", ""));
  if (path == "/check/error") return send_all(fd, with_length("500 Broken", "{}"));
  if (path == "/check/big") return send_all(fd, with_length("200 OK", std::string(kBigSize, 'b')));
  if (path == "/check/stream") {
    if (!send_all(fd, kChunked)) return false;
    for (std::size_t i = 0; i < kStreamSize / 64; ++i) {
      if (!send_all(fd, "40\r\n" + std::string(64, 's') + "\r\n")) return false;
    }
    return send_all(fd, "0\r\n\r\n");
  }
  if (path == "/check/endless") {
    bool there = send_all(fd, kChunked);
    const std::string piece = "1000\r\n" + std::string(0x1000, 'e') + "\r\n";
    while (there) there = send_all(fd, piece);
    if (!stopping_) ++left_;
    return false;
  }
  if (path == "/check/silent") return wait_for_leave(fd);
  if (path == "/check/head") return send_all(fd, kChunked) && wait_for_leave(fd);
  if (path == "/check/drop") return false;
  if (path == "/check/cut") {
    send_all(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n0123456789");
    return false;
  }
  if (path == "/check/garbage") {
    send_all(fd, std::string_view("\x01\x02\x03 not HTTP at all\r\n\r\n", 24));
    return false;
  }
  return send_all(fd, with_length("404 Not Found", "{}"));
}

bool EchoEngine::wait_for_leave(int fd) {
  std::string ignored;
  while (receive(fd, ignored)) {
  }
  if (!stopping_) ++left_;
  return false;
}

}  // namespace smg::check
