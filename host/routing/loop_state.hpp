// What routing keeps per loop: the fleet as last seen, tickets, pools of reusable objects, metric
// handles.
//
// Made on the loop's thread before the first request and used by that thread only.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/config/config.hpp"
#include "host/fleet/registry.hpp"
#include "host/fleet/stream_table.hpp"
#include "host/loop/loop.hpp"
#include "host/metrics/families.hpp"
#include "host/routing/random.hpp"
#include "host/routing/request/request_facts.hpp"
#include "host/routing/request/request_reader.hpp"
#include "host/routing/request_buffer.hpp"

namespace smg {

class StickyKeys;

class LoopState {
 public:
  // `sticky`: nullptr where keys are not kept together. `streams`: those that run, on all loops.
  // Both outlive the object.
  LoopState(Loop& loop, Registry& registry, Families& families,
            std::shared_ptr<const Config> config, StickyKeys* sticky,
            std::atomic<std::uint32_t>& streams);
  LoopState(const LoopState&) = delete;
  LoopState& operator=(const LoopState&) = delete;

  // The fleet, brought up to date.
  const FleetSnapshot& fleet() {
    if (snapshot_->generation != registry.generation()) snapshot_ = registry.snapshot();
    return *snapshot_;
  }
  // The configuration in force. Valid until the call-back returns: the next one may find another.
  const Config& config() const { return *config_; }
  void take(std::shared_ptr<const Config> config) { config_ = std::move(config); }
  std::uint64_t request_timeout() const;  // ns
  // Lets go of a fleet that is no longer the newest.
  void refresh() { fleet(); }

  std::unique_ptr<RequestBuffer> take_buffer();
  void give_back(std::unique_ptr<RequestBuffer> buffer);

  // smg_router_upstream_responses_total of that status, without an error code.
  Series upstream_response(std::uint32_t status);

  Loop& loop;
  Registry& registry;
  Families& families;
  StickyKeys* const sticky;
  StreamTable table;
  Random random;
  RequestReader reader;
  RequestFacts facts;    // of the request that is being submitted
  RoutingInput routing;  // likewise
  Series client_abort_upload, client_abort_waiting, client_abort_streaming;
  Series send_retries;
  Series connections_active;
  std::atomic<std::uint32_t>& streams;
  Series streams_active;

 private:
  static constexpr std::size_t kKeptBuffers = 64;

  std::shared_ptr<const Config> config_;
  std::shared_ptr<const FleetSnapshot> snapshot_;
  std::vector<std::unique_ptr<RequestBuffer>> buffers_;
  std::array<Series, 600> upstream_responses_;
};

}  // namespace smg
