// One engine as the adapter serves it: a line per loop; on the control loop also the probes that
// wait for an answer, and the load that the engine tells unasked.
#pragma once

#include <boost/json/object.hpp>
#include <memory>
#include <string_view>
#include <vector>

#include "line.hpp"
#include "streams.hpp"

namespace acme {

using StreamsOfLoops = std::vector<std::unique_ptr<Streams>>;

class Endpoint {
 public:
  Endpoint(const Services& services, StreamsOfLoops& streams, const smg_worker& worker);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  void start(const smg_request& request, uint64_t ticket, uint64_t* stream);
  void probe(const smg_probe& probe, smg_probe_done done, void* context);
  void quiesce();

  // From the line of the control loop.
  void received(std::string_view op, const boost::json::object& frame);
  void lost(std::string_view why);

 private:
  struct Probe;

  Line& line() { return *lines_[services_.loop.current()]; }
  Streams& streams() { return *streams_[services_.loop.current()]; }
  void report(const boost::json::object& frame) const;
  void answer_probe(Probe& probe, bool healthy, std::string_view detail);
  void dial_again() noexcept { line().dial(); }

  const Services& services_;
  StreamsOfLoops& streams_;
  const smg_worker& worker_;
  std::vector<std::unique_ptr<Line>> lines_;  // by loop
  std::vector<std::unique_ptr<Probe>> probes_;
  smg::Timer<&Endpoint::dial_again> again_{*this};
};

}  // namespace acme
