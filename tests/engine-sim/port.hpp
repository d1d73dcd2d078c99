#pragma once
// A listening socket and the connections accepted from it. It can stop listening, so that connects
// are refused, and listen again on the same port. Loop thread.

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "connection.hpp"

namespace smg::sim {

class Port final : public Loop::Watcher {
 public:
  // Listens; throws std::runtime_error as open_listener does. `tls` may be null and must outlive
  // it.
  Port(Loop& loop, std::string host, std::uint16_t port, const TlsContext* tls, Service& service);
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  ~Port();

  std::uint16_t number() const { return port_; }
  std::string url() const;
  bool listening() const { return fd_ >= 0; }
  void listen();
  void refuse();
  void drop_connections();
  void set_idle_limit(std::int64_t after_ms);
  // To be called by the service when a connection has closed.
  void forget(Connection& connection);

  std::uint64_t accepted() const { return accepted_; }
  const std::unordered_map<std::uint64_t, std::unique_ptr<Connection>>& connections() const {
    return connections_;
  }
  void ready(std::uint32_t events) override;

 private:
  Loop& loop_;
  std::string host_;
  std::uint16_t port_;
  const TlsContext* tls_;
  Service& service_;
  int fd_ = -1;
  std::uint64_t accepted_ = 0;
  std::int64_t idle_limit_ms_ = -1;
  std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> connections_;
};

}  // namespace smg::sim
