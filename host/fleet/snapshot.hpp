// The fleet as one request sees it: immutable, swapped whole when membership changes.
//
// A pool is the workers of one model (of one type and transport; regular HTTP is the only such set
// now) together with the policy that chooses among them. Loops keep the snapshot they saw last and
// ask for a newer one by generation.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/fleet/worker.hpp"
#include "host/metrics/metrics.hpp"
#include "host/plugin/fault_meter.hpp"
#include "smg/policy.h"

namespace smg {

class PluginInstance;

// A policy instance as routing needs it. Pools share it, and so does a request that will tell the
// policy how it ended; who lets it go last ends the instance.
struct PolicyRef {
  const smg_policy_api* api = nullptr;
  void* self = nullptr;
  std::string name;
  std::uint32_t needs = 0;
  std::shared_ptr<PluginInstance> instance;  // what `api` and `self` are of
  FaultMeter* faults = nullptr;              // of the instance; nullptr: nobody counts them

  bool fenced() const { return faults != nullptr && faults->fenced(); }
  void fault(Fault kind, std::string_view what) const {
    if (faults != nullptr) faults->count(kind, what);
  }
  void pool_changed(const smg_pool* before, const smg_pool* after) const {
    if (api->pool_changed == nullptr || fenced()) return;
    guarded(faults, "pool_changed", [&] { api->pool_changed(self, before, after); });
  }
  void dispatched(const smg_policy_request& request, const smg_worker& worker) const {
    if (api->dispatched == nullptr || fenced()) return;
    guarded(faults, "dispatched", [&] { api->dispatched(self, &request, &worker); });
  }
  void completed(const smg_worker& worker, bool success) const {
    if (api->completed == nullptr || fenced()) return;
    guarded(faults, "completed", [&] { api->completed(self, &worker, success ? 1 : 0); });
  }
};
using PolicyPtr = std::shared_ptr<const PolicyRef>;

// Handles of the router's metrics for one pool, looked up at first use: [endpoint][0: requests, 1:
// streamed requests, 2: duration]. Numbers as Series::id() gives them.
struct PoolSeries {
  std::array<std::array<std::atomic<std::uint64_t>, 3>, 10> ids{};
};

struct Pool {
  std::string model;
  std::vector<std::shared_ptr<Worker>> members;
  std::vector<const smg_worker*> workers;
  std::vector<const smg_worker_live*> live;
  std::vector<std::shared_ptr<Endpoint>> endpoints;  // of the members
  PolicyPtr policy;
  WorkerResilience resilience;  // retries as the member that was registered last wants them
  Series selections;            // smg_worker_selection_total of this pool and policy
  mutable PoolSeries series;
  smg_pool view{};

  // The member at that URL, or kNobody. Any thread; the first call looks at every member.
  static constexpr std::uint32_t kNobody = 0xffffffffu;
  std::uint32_t find_url(std::string_view url) const {
    std::call_once(indexed_, [this] {
      for (std::uint32_t i = 0; i < view.count; ++i) {
        by_url_.emplace(std::string_view(workers[i]->url.data, workers[i]->url.size), i);
      }
    });
    const auto found = by_url_.find(url);
    return found == by_url_.end() ? kNobody : found->second;
  }

 private:
  mutable std::once_flag indexed_;
  mutable std::unordered_map<std::string_view, std::uint32_t> by_url_;
};

struct TransparentHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

struct FleetSnapshot {
  std::uint64_t generation = 0;
  std::unordered_map<std::string, std::shared_ptr<const Pool>, TransparentHash, std::equal_to<>>
      pools;
  std::unordered_map<std::string, std::string, TransparentHash, std::equal_to<>> aliases;
  std::shared_ptr<const Pool> all;               // for the model `unknown`
  std::vector<std::shared_ptr<Worker>> workers;  // in order of registration
  std::uint32_t needs = 0;                       // SMG_NEEDS_* of all policies together

  // The canonical id for a name that a request uses: a model's own name goes before an alias.
  std::string_view canonical(std::string_view name) const {
    if (aliases.empty() || name == "unknown" || pools.contains(name)) return name;
    const auto found = aliases.find(name);
    return found == aliases.end() ? name : std::string_view(found->second);
  }
  // The pool for a canonical model id, or nullptr. `unknown` means any worker.
  const Pool* find(std::string_view model) const {
    if (model == "unknown") return all->members.empty() ? nullptr : all.get();
    const auto found = pools.find(model);
    return found == pools.end() ? nullptr : found->second.get();
  }
};

}  // namespace smg
