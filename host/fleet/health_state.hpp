// What a worker's probes make of its status. One worker, one thread; no clock.
//
//   pending   -> ready      after `success_threshold` passes in a row
//   pending   -> failed     after 10 x `failure_threshold` probes, whatever they said
//   ready     -> not_ready  after `failure_threshold` failures in a row
//   not_ready -> ready      after `success_threshold` passes in a row
//   not_ready -> failed     after 3 x `failure_threshold` further failures in a row
#pragma once

#include <algorithm>
#include <cstdint>

namespace smg {

class HealthState {
 public:
  HealthState(std::uint32_t success_threshold, std::uint32_t failure_threshold) {
    configure(success_threshold, failure_threshold);
  }

  // For the probes to come; what was counted stays. 0 counts as 1.
  void configure(std::uint32_t success_threshold, std::uint32_t failure_threshold) {
    success_threshold_ = std::max(success_threshold, 1u);
    failure_threshold_ = std::max(failure_threshold, 1u);
  }

  // Takes one probe's result, returns the status (SMG_STATUS_*) that follows from `status`.
  std::uint32_t probed(std::uint32_t status, bool healthy);

 private:
  std::uint32_t success_threshold_ = 1;
  std::uint32_t failure_threshold_ = 1;
  std::uint64_t passes_ = 0;    // in a row
  std::uint64_t failures_ = 0;  // in a row
  std::uint64_t probes_ = 0;    // while pending
};

}  // namespace smg
