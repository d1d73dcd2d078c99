// The listener: one socket per data loop on the same address, connections spread by the kernel.
//
// Control of all loops from the thread that owns the gateway: open, drain, close.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/http/listener_loop.hpp"
#include "host/loop/loop_group.hpp"
#include "host/routing/loop_state.hpp"

namespace smg {

class Listener {
 public:
  struct Parts {
    LoopGroup& loops;
    Registry& registry;
    Families& families;
    Bus& bus;
    AdminApi& admin;
    ControlPlane& control_plane;
    Admission& admission;
    const ServerTls* tls;  // nullptr: plain
    AccessLog& access_log;
    StickyKeys* sticky;  // as in LoopState
  };
  Listener(const Parts& parts, const Config& config);
  ~Listener();  // REQUIRES: loops still run
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Binds and listens; a sentence if that fails. Port 0 takes a free one, see port().
  std::string open();
  std::uint16_t port() const { return port_; }

  // From now on requests for workers are refused, or, where another process takes over, connections
  // are left to it. Answers say that their connection ends.
  void announce_draining();
  // No new connections; idle ones close.
  void close_idle();
  // Requests whose answer is not finished.
  std::uint64_t busy() const { return shared_.busy.load(); }
  // [control] Has the loops let go of fleets that are no longer the newest, also those that have no
  // request to look for one: policies and workers that left wait for it.
  void refresh_fleet();
  // [control] Has every loop go by this configuration from its next call-back on; `done` is called
  // here once all do.
  void apply(const Config& config, std::function<void()> done);

 private:
  struct Change;
  struct PerLoop : smg_task {
    std::atomic<bool> refresh_due{false};
    std::unique_ptr<LoopState> routing;
    std::unique_ptr<ListenerLoop> listener;
  };

  const Parts parts_;
  LoopGroup& loops_;
  const Config& config_;
  ListenerShared shared_;
  std::vector<PerLoop> per_loop_;
  std::uint16_t port_ = 0;
};

}  // namespace smg
