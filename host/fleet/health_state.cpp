#include "host/fleet/health_state.hpp"

#include "smg/worker.h"

namespace smg {

std::uint32_t HealthState::probed(std::uint32_t status, bool healthy) {
  passes_ = healthy ? passes_ + 1 : 0;
  failures_ = healthy ? 0 : failures_ + 1;
  std::uint32_t next = status;
  switch (status) {
    case SMG_STATUS_PENDING:
      ++probes_;
      if (passes_ >= success_threshold_) {
        next = SMG_STATUS_READY;
      } else if (probes_ >= std::uint64_t{10} * failure_threshold_) {
        next = SMG_STATUS_FAILED;
      }
      break;
    case SMG_STATUS_READY:
      if (failures_ >= failure_threshold_) next = SMG_STATUS_NOT_READY;
      break;
    case SMG_STATUS_NOT_READY:
      if (passes_ >= success_threshold_) {
        next = SMG_STATUS_READY;
      } else if (failures_ >= std::uint64_t{3} * failure_threshold_) {
        next = SMG_STATUS_FAILED;
      }
      break;
    default:
      break;
  }
  if (next != status) passes_ = failures_ = probes_ = 0;
  return next;
}

}  // namespace smg
