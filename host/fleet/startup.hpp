// Brings configured workers into service: probe until one answers, learn its models and runtime,
// make it Ready.
//
// Control thread throughout. Each worker is probed on its own, so one that is down delays nobody.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/config/config.hpp"
#include "host/fleet/registry.hpp"
#include "host/loop/loop_group.hpp"

namespace smg {

class Startup {
 public:
  Startup(Loop& control, Registry& registry, const Config& config);
  ~Startup();
  Startup(const Startup&) = delete;
  Startup& operator=(const Startup&) = delete;

  // A sentence if the worker cannot be registered at all.
  std::string begin(const WorkerSpec& spec, const TransportRef& transport);
  // No further probes; answers that are on their way are dropped.
  void stop();

 private:
  struct Job;
  static void probed(void* context, const smg_probe_result* result);
  static void retry(smg_timer* timer);
  void probe(Job& job);
  void succeed(Job& job, const smg_probe_result& result);

  Loop& control_;
  Registry& registry_;
  const Config& config_;
  std::vector<std::shared_ptr<Job>> jobs_;
};

WorkerDescription describe_worker(const WorkerSpec& spec, const Config& config);

}  // namespace smg
