// Probes workers that are in service, and moves them between ready, not ready and failed.
//
// Control loop. A worker is probed at once when it comes into service or is replaced, then every
// interval; at most kMostProbes run at a time. Pending workers are the business of whoever
// registers them, failed and draining ones nobody's.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

#include "host/config/config.hpp"
#include "host/fleet/health_state.hpp"
#include "host/fleet/registry.hpp"
#include "host/loop/loop.hpp"

namespace smg {

class HealthChecker {
 public:
  static constexpr std::size_t kMostProbes = 128;

  HealthChecker(Loop& control, Registry& registry, Families& families, const Config& config);
  ~HealthChecker();
  HealthChecker(const HealthChecker&) = delete;
  HealthChecker& operator=(const HealthChecker&) = delete;

  // Asks everybody now: what is known of them is about endpoints that they have no longer.
  void probe_soon();
  // Looks for workers to watch and for those to let go.
  void fleet_changed();
  // Other thresholds and intervals, for those that are watched as well.
  void config_changed();

 private:
  struct Entry;

  static void due(smg_timer* timer);
  static void probed(const std::shared_ptr<Entry>& entry, const smg_probe_result& result);
  void ask(const std::shared_ptr<Entry>& entry);
  void answered(Entry& entry, bool healthy, std::string_view detail);
  bool is_off(const Worker& worker) const;
  bool watches(const Worker& worker) const;
  void configure(Entry& entry) const;

  Loop& control_;
  Registry& registry_;
  Families& families_;
  const Config& config_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Entry>> entries_;  // by ref
  std::deque<std::weak_ptr<Entry>> waiting_;
  std::size_t running_ = 0;
};

}  // namespace smg
