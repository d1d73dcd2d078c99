// Brings workers into service, changes them, and takes them out again, each as a job of its own.
//
// A worker that is to be added, or replaced, is looked at until it answers; what it says of itself
// is merged with what was asked for, and only then is it registered, and Ready. So a worker that is
// not up yet is in no pool and delays nobody. One that leaves is Draining for a while first.
//
// Control loop throughout.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "host/config/config.hpp"
#include "host/fleet/job_table.hpp"
#include "host/fleet/registry.hpp"
#include "host/loop/loop.hpp"

namespace smg {

class Registration {
  struct Job;

 public:
  // The transport for a worker; nullptr and a sentence if there is none.
  using TransportFor = std::function<TransportPtr(const WorkerSpec&, std::string& error)>;
  // The job has a place in the queue.
  using Queued = JobTable::Step;

  Registration(Loop& control, Registry& registry, const Config& config, TransportFor transport_for);
  ~Registration();  // no further looks; answers that are on their way are dropped
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  // What is wrong with a URL whose scheme no transport speaks and the gateway does not know either.
  std::string unknown_scheme(const WorkerSpec& spec) const;
  // Workers of the configuration come, or change, in two steps, so that all of them do or none.
  // First their endpoints are opened: a sentence, and nothing has happened, if one can never be.
  // Then their jobs are submitted, in the same turn of the loop.
  using Prepared = std::vector<std::shared_ptr<Job>>;
  std::string prepare(std::span<const WorkerSpec> specs, Prepared& jobs);
  void submit(const Prepared& jobs);
  void drop(Prepared& jobs);  // instead
  // Takes out the worker that the configuration brought to that URL, registered or not; one that
  // came by add() stays.
  void remove_configured(std::string_view url);
  // Returns the id that the worker will have. One that is being added already starts over with the
  // new specification and keeps its id. REQUIRES: no worker with that URL is registered.
  std::string add(const WorkerSpec& spec, Queued queued);
  // Fails if the worker is changed or removed meanwhile.
  void replace(const std::shared_ptr<Worker>& worker, const WorkerSpec& spec, Queued queued);
  void patch(const Worker& worker, WorkerPatch patch, Queued queued);
  void remove(const Worker& worker, Queued queued);
  // Ends the job that is adding a worker. False: there is none.
  bool give_up(std::string_view id);

  // The worker's last job if it runs, waits, or failed a short while ago; else nullptr.
  const JobRecord* job(std::string_view id) const { return table_.find(id); }

 private:
  using JobPtr = std::shared_ptr<Job>;

  static std::string new_id();
  JobPtr make_job(const WorkerSpec& spec, std::string id);
  std::string begin(Job& job);
  void submit(const JobPtr& job, JobType type, Queued queued);
  void look(Job& job);
  static void looked(const JobPtr& job, const smg_probe_result& result);
  static void look_again(smg_timer* timer);
  static void out_of_time(smg_timer* timer);
  static void settled(smg_timer* timer);
  void not_up(Job& job, std::string_view failure);
  void succeed(Job& job, const smg_probe_result& found);
  void apply(const std::string& id, const WorkerPatch& patch, std::uint64_t number);
  void drain(Job& job);
  // Ends what is under way with a worker, but for one job.
  void supersede(std::string_view id, const Job* by);
  void finish(Job& job, std::string failure = {});

  Loop& control_;
  Registry& registry_;
  const Config& config_;
  const TransportFor transport_for_;
  JobTable table_;
  std::unordered_set<JobPtr> jobs_;
  std::map<std::string, JobPtr, std::less<>> adding_;           // by URL
  std::map<std::string, std::string, std::less<>> configured_;  // URL -> id
};

}  // namespace smg
