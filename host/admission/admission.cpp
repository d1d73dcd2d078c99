#include "host/admission/admission.hpp"

#include <spdlog/spdlog.h>

#include <utility>

#include "host/admission/limiter.hpp"
#include "host/admission/scheduler.hpp"

namespace smg {

std::unique_ptr<Admission> make_admission(const Config& config, Families& families,
                                          std::function<void()> wake) {
  if (config.priority_scheduler.enabled) {
    const std::string problem = Scheduler::problem(config);
    if (problem.empty()) return std::make_unique<Scheduler>(config, families);
    spdlog::warn("priority scheduler: {}; the concurrency limiter serves in its place{}", problem,
                 config.admission.max_concurrent_requests > 0
                     ? ""
                     : ", and it is off, because max_concurrent_requests is not above 0");
  }
  return std::make_unique<Limiter>(config.admission, families, std::move(wake));
}

}  // namespace smg
