// What the adapter uses of the gateway, looked up once per instance.
#pragma once

#include "smg/cpp/clock.hpp"
#include "smg/cpp/fleet.hpp"
#include "smg/cpp/loop.hpp"
#include "smg/cpp/resolve.hpp"
#include "smg/transport.h"

namespace acme {

struct Services {
  Services(smg::Host host, const smg_sink& to)
      : loop(host), clock(host), resolve(host), fleet(host), sink(to) {}

  uint32_t loops() const { return loop.count(); }
  bool on_control_loop() const { return loop.current() + 1 == loop.count(); }

  smg::Loop loop;
  smg::Clock clock;
  smg::Resolve resolve;
  smg::Fleet fleet;
  const smg_sink& sink;
};

}  // namespace acme
