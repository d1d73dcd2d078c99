// The concurrency limiter: a bucket with one token for each request that runs, refilled at a rate
// if there is one, and a queue before it. With max_concurrent_requests at 0 or below it is off: it
// admits everything and counts nothing, until configure() turns it on. Threads: see admission.hpp.
#pragma once

#include <atomic>

#include "host/admission/admission.hpp"
#include "host/admission/tickets.hpp"
#include "host/admission/token_bucket.hpp"

namespace smg {

class Limiter final : public Admission {
 public:
  Limiter(const AdmissionConfig& config, Families& families, std::function<void()> wake);

  Answer enter(AdmissionTicket& ticket, const AdmissionRequest& request,
               AdmissionRefusal& refusal) override;
  void configure(const Config& config, std::uint64_t now) override;
  void fleet_changed(const FleetCapacity&, std::uint64_t) override {}
  std::uint64_t tick(std::uint64_t now) override;

 private:
  bool expire(AdmissionTicket& ticket, std::uint64_t now, AdmissionRefusal& refusal) override;
  void leave(AdmissionTicket& ticket, std::uint64_t now) override;
  void told(AdmissionTicket& ticket) override;

  void take_over(const AdmissionConfig& config);
  // Hands tokens to those who wait for them.
  void serve(std::uint64_t now, Posts& posts);
  void unqueue(AdmissionTicket& ticket);

  std::atomic<bool> off_{true};
  TokenBucket bucket_;
  std::uint64_t queue_size_ = 0;
  std::uint64_t queue_timeout_ = 0;  // ns
  Tickets queue_;
  std::uint64_t depth_ = 0;  // of it
  const std::function<void()> wake_;

  const Series allowed_, rejected_, full_, timeout_, depth_shown_, inflight_shown_;
};

}  // namespace smg
