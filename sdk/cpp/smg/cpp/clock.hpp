// The host's clock, on any thread. Virtual in tests, so take time from nowhere else.
#pragma once

#include "smg/cpp/host.hpp"

namespace smg {

class Clock {
 public:
  explicit Clock(Host host)
      : host_(host.raw()), table_(host.require<smg_clock_service>(SMG_SERVICE_CLOCK)) {}

  uint64_t now() const { return table_->now(host_); }  // monotonic ns; on a loop: of this turn
  uint64_t unix_ms() const { return table_->unix_ms(host_); }  // wall clock

 private:
  const smg_host* host_;
  const smg_clock_service* table_;
};

}  // namespace smg
