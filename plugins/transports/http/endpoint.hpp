// One worker as this transport serves it: where to connect, what its requests have in common, and
// per loop the connections that wait for work.
//
// Made and closed on the control thread; each loop touches its own part only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "idle_pool.hpp"
#include "tls_source.hpp"

namespace smg::http {

class Probe;
class Transport;

class Endpoint {
 public:
  // Throws Error. `worker` stays valid until the endpoint is gone.
  Endpoint(Transport& transport, const smg_worker& worker);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint();

  Transport& transport() const { return transport_; }
  const smg_worker& worker() const { return worker_; }
  std::string_view host() const { return text(worker_.host); }
  uint16_t port() const { return static_cast<uint16_t>(worker_.port); }
  std::string_view base_path() const { return base_path_; }
  std::string_view host_line() const { return host_line_; }  // the Host field with its line end
  const TlsSource* tls() const { return tls_.get(); }        // nullptr: plain TCP

  IdlePool& pool(uint32_t loop) { return loops_[loop]->pool; }
  // The session that the next TLS connection of that loop may resume.
  TlsTicket& ticket(uint32_t loop) { return loops_[loop]->ticket; }

  // Drops what the loop holds. On that loop, after its last exchange.
  void quiesce(uint32_t loop, bool control);

  // Running probes, so that none is left behind. Control thread.
  void add(Probe& probe) { probes_.push_back(&probe); }
  void remove(Probe& probe) { std::erase(probes_, &probe); }

 private:
  struct alignas(64) PerLoop {
    PerLoop(const Services& services, const Settings& settings) : pool(services, settings) {}
    IdlePool pool;
    TlsTicket ticket;
  };

  Transport& transport_;
  const smg_worker& worker_;
  std::shared_ptr<const TlsSource> tls_;
  std::string base_path_;
  std::string host_line_;
  std::vector<std::unique_ptr<PerLoop>> loops_;
  std::vector<Probe*> probes_;
};

}  // namespace smg::http
