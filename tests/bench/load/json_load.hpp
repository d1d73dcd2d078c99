// Non-streamed requests over a fixed set of keep-alive connections: a closed loop, where each sends
// its next request when it has its answer, or an open loop, where requests fall due at random
// (Poisson) times whatever the server does. Open-loop latency counts from the due time, so a stall
// is charged to every request that it held up.
#pragma once

#include <deque>
#include <random>
#include <string>
#include <vector>

#include "event_loop.hpp"
#include "report.hpp"
#include "window.hpp"

namespace smg::bench {

class JsonLoad {
 public:
  explicit JsonLoad(const Options& options);
  /// Runs warm-up and window, returns the report.
  boost::json::object run();

 private:
  void start(std::uint32_t index, Nanos due);
  void on_event(std::uint32_t index, std::uint32_t events);
  void on_end(std::uint32_t index, Event event);
  void next(std::uint32_t index, Nanos time);
  void start_due(Nanos time);
  Nanos gap();
  Nanos next_deadline() const;
  boost::json::object report() const;

  const Options& options_;
  const sockaddr_in server_;
  const std::string request_;
  EventLoop loop_;
  Window window_;
  std::vector<Connection> connections_;
  std::vector<Nanos> due_;                             // by connection: when its request was due
  std::deque<std::pair<Nanos, std::uint32_t>> retry_;  // connections that wait after a failure
  std::vector<std::uint32_t> free_;                    // open loop: connections without a request
  std::deque<Nanos> waiting_;  // open loop: due requests without a connection
  Nanos next_due_;
  std::mt19937_64 random_{42};
  Histogram latency_;
  std::uint64_t reconnects_ = 0;
  Errors errors_;
};

}  // namespace smg::bench
