#pragma once
// The control port: reads and changes the engines of this process over HTTP and JSON while they
// run. README.md lists the calls. Loop thread.

#include <memory>
#include <string>
#include <vector>

#include "engine.hpp"

namespace smg::sim {

using Engines = std::vector<std::unique_ptr<Engine>>;

// One order from the control port or a script. `engine` in the fields is an index, or "all", which
// is also what its absence means. Throws std::invalid_argument that says what is wrong.
enum class Order { Fault, Config, Reset };
void carry_out(Order order, const boost::json::object& fields, Engines& engines);

class Control final : public Service {
 public:
  Control(Loop& loop, const std::string& host, std::uint16_t port, Engines& engines)
      : engines_(engines), port_(loop, host, port, nullptr, *this) {}
  const Port& port() const { return port_; }

  void head_read(Connection&) override {}
  void request_read(Connection& connection) override;
  void request_refused(Connection& connection, const std::string& reason) override;
  void reply_sent(Connection&) override {}
  void peer_left(Connection&, AbortKind) override {}
  void closed(Connection& connection) override { port_.forget(connection); }

 private:
  void get(Connection& connection);
  void post(Connection& connection);

  Engines& engines_;
  Port port_;
};

}  // namespace smg::sim
