// The concurrency limiter: a bucket with one token for each request that runs, refilled at a rate
// if there is one, and a queue before it. Threads: see admission.hpp.
#pragma once

#include "host/admission/admission.hpp"
#include "host/admission/tickets.hpp"
#include "host/admission/token_bucket.hpp"

namespace smg {

class Limiter final : public Admission {
 public:
  // REQUIRES: max_concurrent_requests above 0.
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

  // Hands tokens to those who wait for them.
  void serve(std::uint64_t now, Posts& posts);
  void unqueue(AdmissionTicket& ticket);

  TokenBucket bucket_;
  std::uint64_t queue_size_;
  std::uint64_t queue_timeout_;  // ns
  Tickets queue_;
  std::uint64_t depth_ = 0;  // of it
  const std::function<void()> wake_;

  const Series allowed_, rejected_, full_, timeout_, depth_shown_, inflight_shown_;
};

}  // namespace smg
