// A server on 127.0.0.1 that answers each connection with what a function says, and closes it.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace smg::test {

class LocalServer {
 public:
  // From the path of a request to the bytes of the answer; on the server's thread.
  using Answer = std::function<std::string(const std::string& path)>;

  explicit LocalServer(Answer answer) : answer_(std::move(answer)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    if (bind(socket_, any, size) != 0 || listen(socket_, 16) != 0 ||
        getsockname(socket_, any, &size) != 0) {
      throw std::runtime_error("no port to listen on");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] { run(); });
  }
  ~LocalServer() {
    shutdown(socket_, SHUT_RDWR);  // ends accept()
    thread_.join();
    close(socket_);
  }
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  std::string url(const std::string& path = "") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  static std::string ok(const std::string& body) {
    return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  }

 private:
  void run() {
    for (;;) {
      const int client = accept(socket_, nullptr, nullptr);
      if (client < 0) return;
      std::string head;
      char part[4096];
      while (head.find("\r\n\r\n") == std::string::npos) {
        const ssize_t got = recv(client, part, sizeof part, 0);
        if (got <= 0) break;
        head.append(part, static_cast<std::size_t>(got));
      }
      const std::size_t begin = head.find(' ') + 1;
      const std::string answer = answer_(head.substr(begin, head.find(' ', begin) - begin));
      for (std::size_t sent = 0; sent < answer.size();) {
        const ssize_t took = send(client, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
        if (took <= 0) break;
        sent += static_cast<std::size_t>(took);
      }
      close(client);
    }
  }

  Answer answer_;
  int socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
  std::uint16_t port_ = 0;
  std::jthread thread_;
};

}  // namespace smg::test
