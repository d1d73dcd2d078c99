// The background jobs on workers: who waits, who runs, what became of those that failed.
//
// Control loop. At most `concurrency` jobs run and `capacity` wait; who submits one more has to
// wait with it, so the answer to its submitter is given when the job has found a place. A job that
// only waits for time to pass does not count as running: it steps aside and gets another turn.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "host/loop/loop.hpp"

namespace smg {

enum class JobType : std::uint8_t { add_worker, update_worker, remove_worker };
enum class JobStatus : std::uint8_t { pending, processing, failed };
std::string_view name_of(JobType type);
std::string_view name_of(JobStatus status);

// What operators see of a job. One that succeeded is forgotten.
struct JobRecord {
  JobType type = JobType::add_worker;
  JobStatus status = JobStatus::pending;
  std::string worker_url;
  std::string message;         // why it failed
  std::int64_t timestamp = 0;  // of the last change, seconds since 1970
};

class JobTable {
 public:
  using Step = std::function<void()>;
  static constexpr std::uint64_t kKeepFailed = 300'000'000'000;
  static constexpr std::uint64_t kSweepInterval = 60'000'000'000;

  JobTable(Loop& control, std::uint32_t capacity, std::uint32_t concurrency);
  ~JobTable();
  JobTable(const JobTable&) = delete;
  JobTable& operator=(const JobTable&) = delete;

  // Writes a number for the calls below. `turn` runs when it is the job's turn, `queued` once it
  // has a place in the queue; either may run before submit() returns.
  void submit(JobType type, std::string worker_id, std::string worker_url, Step turn, Step queued,
              std::uint64_t& number);
  // The running job has nothing to do for now.
  void step_aside(std::uint64_t job);
  // ... and now has: `turn` runs when there is room.
  void come_back(std::uint64_t job, Step turn);
  // The job has ended, running or not. An empty message: it succeeded.
  void end(std::uint64_t job, std::string failure = {});

  // The record of the worker's last job, or nullptr.
  const JobRecord* find(std::string_view worker_id) const;

 private:
  struct Entry {
    JobRecord record;
    std::string worker_id;
    Step turn;    // waits for its turn
    Step queued;  // waits for a place
    bool running = false;
    std::uint64_t failed_at = 0;
  };
  struct Timer : smg_timer {
    JobTable* owner;
  };
  static void sweep(smg_timer* timer);
  void set_status(Entry& entry, JobStatus status);
  void go_on();

  Loop& control_;
  const std::uint32_t capacity_, concurrency_;
  std::uint32_t running_ = 0;
  std::uint64_t next_job_ = 1;
  std::map<std::uint64_t, Entry> entries_;
  std::unordered_map<std::string, std::uint64_t> last_;  // by worker id
  std::deque<std::uint64_t> queue_;                      // have a place
  std::deque<std::uint64_t> outside_;                    // wait for one
  bool going_on_ = false;
  Timer sweep_{};
};

}  // namespace smg
