// The port that Prometheus scrapes: GET /metrics and nothing else.
//
// Poco's HTTP server rather than prometheus-cpp's Exposer, whose civetweb has no IPv6 on Debian,
// cannot say why it could not bind, adds families of its own and leaves the version out of the
// content type. It runs on a few threads of its own, away from the loops.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "host/metrics/metrics.hpp"

namespace smg {

class MetricsListener {
 public:
  // Listens from now until destruction. A `host` that is no IP address (brackets allowed) counts as
  // 0.0.0.0, with a warning in the log; port 0 takes any free one. nullptr, and a sentence in
  // `error`, if that address cannot be had. REQUIRES: `metrics` outlives the listener.
  static std::unique_ptr<MetricsListener> open(const Metrics& metrics, std::string_view host,
                                               std::uint16_t port, bool reuse_port,
                                               std::string& error);
  ~MetricsListener();
  MetricsListener(const MetricsListener&) = delete;
  MetricsListener& operator=(const MetricsListener&) = delete;

  std::uint16_t port() const;
  std::string address() const;  // host:port as bound, IPv6 in brackets

 private:
  struct Impl;
  explicit MetricsListener(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace smg
