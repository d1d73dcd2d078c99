// Stickiness around any policy ([routing_key_override]): requests with one routing key stay at one
// worker.
//
// A key is pinned to the worker that its first request went to, and later ones follow while that
// worker is eligible and has fewer than kCap requests of the key. At the cap the request goes where
// the policy wants it, and the pin moves there unless that worker is at the cap as well. So a
// conversation keeps its cache, and a burst with one key does not pile onto one worker. Two pins
// are remembered: a worker that comes back gets its keys back.
//
// Any loop; no lock is held while a policy is called. Idle keys are swept on the control loop.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "host/config/config.hpp"
#include "host/loop/loop.hpp"
#include "host/metrics/families.hpp"
#include "host/routing/selection.hpp"
#include "smg/cpp/sticky_map.hpp"

namespace smg {

class StickyKeys {
 public:
  static constexpr std::uint32_t kCap = 2;  // running requests of one key on one worker

  StickyKeys(const RoutingKeyOverride& config, Families& families);

  // `key` is not empty, `key_hash` is what the workers' ActiveKeys know it by. As select_worker().
  Selection select(const Pool& pool, const smg_policy_request& request, std::string_view key,
                   std::uint64_t key_hash, bool shed);

  // [control] Sweeps from now on; until stop().
  void start(Loop& control);
  void stop();

 private:
  // In the order of defaults::kAssignmentModes.
  enum class Mode : std::uint8_t { random, min_load, min_group, delegate };
  enum Branch : std::uint8_t {
    no_healthy_workers,
    occupied_hit,
    occupied_miss,
    vacant,
    cap_respill
  };
  struct Timer : smg_timer {
    StickyKeys* owner;
  };

  Selection assign(const Pool& pool, const smg_policy_request& request, bool shed) const;
  void sweep();

  const Mode mode_;
  const std::uint64_t max_idle_;  // ns, 0: for ever
  const std::uint64_t interval_;  // ns
  StickyMap map_;
  std::array<Series, 5> branches_;
  Series entries_;
  Loop* control_ = nullptr;
  Timer timer_{};
};

}  // namespace smg
