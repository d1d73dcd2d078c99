// The priority scheduler: four classes of requests that share one capacity. Each has a reservation
// that lower ones leave alone, and a queue; high ones may preempt low ones that have not begun to
// answer. Threads: see admission.hpp.
//
// A request that preempts another keeps its place in its queue from the start, so that nobody of
// its class overtakes it, but takes up no room there for kPreemptWait: the victim is about to
// leave.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "host/admission/admission.hpp"
#include "host/admission/tickets.hpp"
#include "host/admission/token_bucket.hpp"

namespace smg {

class Scheduler final : public Admission {
 public:
  static constexpr std::size_t kClasses = 4;    // by rank: bulk, default, interactive, system
  static constexpr std::size_t kStarvable = 3;  // of these, all but system
  static constexpr std::uint64_t kPreemptWait = 50'000'000;      // ns
  static constexpr std::uint64_t kGaugePeriod = 5'000'000'000u;  // ns

  // Why it cannot serve with this configuration; empty if it can.
  static std::string problem(const Config& config);

  Scheduler(const Config& config, Families& families);

  Answer enter(AdmissionTicket& ticket, const AdmissionRequest& request,
               AdmissionRefusal& refusal) override;
  void configure(const Config& config, std::uint64_t now) override;
  void fleet_changed(const FleetCapacity& fleet, std::uint64_t now) override;
  std::uint64_t tick(std::uint64_t now) override;

 private:
  // A class, and what it has in use.
  struct Class {
    PriorityClass limits;
    std::uint32_t reserved = 0;
    std::uint32_t inflight = 0;
    std::uint32_t depth = 0;  // of the queue, those aside who wait for their victim
    Tickets queue;
    Tickets preemptible;  // running, newest last; those found immune are taken out

    Series admitted, queue_full, queue_timeout, preempted, cancelled;
    Series wait, promoted;
    Series inflight_shown, depth_shown, limit_shown, pressure_shown;
    std::array<Series, kClasses> preemption;  // as the victim, by the class of the other
  };

  bool expire(AdmissionTicket& ticket, std::uint64_t now, AdmissionRefusal& refusal) override;
  void leave(AdmissionTicket& ticket, std::uint64_t now) override;
  void told(AdmissionTicket& ticket) override;

  Answer place(AdmissionTicket& ticket, const AdmissionRequest& request, std::size_t wanted,
               AdmissionRefusal& refusal);
  Class& class_of(const AdmissionTicket& ticket) { return classes_[ticket.rank_]; }
  std::size_t highest_for(std::string_view tenant) const;
  bool has_room(std::size_t rank) const;
  bool is_starved(const Class& of, std::uint64_t now) const;
  // Lets those in who can go, the longest waiting first.
  void dispatch(std::uint64_t now, Posts& posts);
  void grant(Class& of, std::uint64_t now, Posts& posts);
  bool preempt_for(std::size_t rank, Posts& posts);
  void unqueue(AdmissionTicket& ticket);
  void take_over(const Config& config);
  // What an operator should know of the reservations; empty: nothing.
  std::string shut_out() const;
  void warn();
  void set_capacity();
  void show_gauges() const;

  std::array<Class, kClasses> classes_;
  std::size_t default_highest_ = 0;
  std::map<std::string, std::size_t, std::less<>> highest_;  // by tenant key
  std::optional<TokenBucket> rate_;
  std::int64_t without_workers_ = 0;  // max_concurrent_requests
  FleetCapacity fleet_;
  std::string warned_;
  std::uint32_t capacity_ = 0;
  std::uint32_t inflight_ = 0;
  std::uint64_t gauges_due_ = 0;

  Family& clamp_;
  Family& unknown_;
  const Series utilization_;
};

}  // namespace smg
