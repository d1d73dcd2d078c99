// One worker: a socket for orders, watched on the control loop, and answers to requests.
#pragma once

#include <memory>

#include "orders.hpp"
#include "smg/cpp/loop.hpp"
#include "smg/transport.h"
#include "streams.hpp"

namespace puppet {

class Endpoint {
 public:
  // Takes the path over from an endpoint of the same URL that is still to close. Throws.
  Endpoint(smg::Host host, const smg_sink* sink, std::shared_ptr<Streams> streams,
           const smg_worker& worker);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  void start(const smg_request& request, uint64_t ticket, uint64_t* stream);
  void probe(const smg_probe& probe, smg_probe_done done, void* context);
  void quiesce();

 private:
  void ready(uint32_t events) noexcept;
  void answer(uint64_t ticket, uint64_t* stream);

  smg::Fleet fleet_;
  smg::Loop loop_;
  const smg_sink* sink_;
  std::shared_ptr<Streams> streams_;
  Engine engine_;
  smg::Watch<&Endpoint::ready> watch_{*this};
};

}  // namespace puppet
