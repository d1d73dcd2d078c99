#include "host/admission/admission.hpp"

#include <spdlog/spdlog.h>

#include <utility>

#include "host/admission/limiter.hpp"
#include "host/admission/scheduler.hpp"

namespace smg {

std::unique_ptr<Admission> make_admission(const Config& config, Families& families,
                                          std::function<void()> wake) {
  const bool limited = config.admission.max_concurrent_requests > 0;
  if (config.priority_scheduler.enabled) {
    const std::string problem = Scheduler::problem(config);
    if (problem.empty()) return std::make_unique<Scheduler>(config, families);
    spdlog::warn("priority scheduler: {}; {} in its place", problem,
                 limited ? "the concurrency limiter serves"
                         : "max_concurrent_requests is not set, so all requests are admitted");
  }
  if (!limited) return nullptr;
  return std::make_unique<Limiter>(config.admission, families, std::move(wake));
}

}  // namespace smg
