// What Registration knows of a job while it waits or runs. Control loop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "host/fleet/registration.hpp"

namespace smg {

struct Registration::Job : std::enable_shared_from_this<Job> {
  static constexpr std::uint64_t kUpdateInterval = 5'000'000'000;

  Registration* owner = nullptr;  // nullptr: it has ended
  std::uint64_t number = 0;       // at the table
  WorkerSpec spec;
  WorkerDescription description;
  std::optional<Candidate> candidate;
  std::shared_ptr<Worker> replaces;
  std::uint64_t give_up_at = 0;
  std::uint64_t interval = 0;
  std::uint64_t timeout = 0;
  std::string last_failure;
  struct Timer : smg_timer {
    Job* job;
  } timer{}, limit{};
  std::shared_ptr<Job> self;  // while a look is under way
};

}  // namespace smg
