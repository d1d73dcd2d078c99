// What one loop has open to one engine: a connection, dialled when it is first needed, that carries
// all of the loop's requests to that engine at once. The control loop's carries probes and load.
#pragma once

#include "connection.hpp"
#include "smg/worker.h"

namespace acme {

class Endpoint;
class Streams;

class Line final : public Connection::User {
 public:
  Line(const Services& services, Streams& streams, Endpoint& endpoint, const smg_worker& worker)
      : services_(services), streams_(streams), endpoint_(endpoint), worker_(worker) {}
  ~Line() { close(); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  const smg_worker& worker() const { return worker_; }
  void dial();
  void send(const boost::json::object& frame);  // dials if need be
  void close();

 private:
  void received(const boost::json::object& frame) override;
  void lost(uint32_t kind, std::string_view why) override;

  const Services& services_;
  Streams& streams_;
  Endpoint& endpoint_;
  const smg_worker& worker_;
  Connection* connection_ = nullptr;
};

}  // namespace acme
