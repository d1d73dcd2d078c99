// A gateway's surroundings for plugins under check: loops, bus and metrics are the real ones, the
// fleet is a fake, and every service looks at the thread that calls it.
//
// One at a time in a process, made and destroyed on a thread that is no loop. Complaints may come
// from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/bus/bus.hpp"
#include "host/check/fake_fleet.hpp"
#include "host/check/sink_desk.hpp"
#include "host/loop/loop_group.hpp"
#include "host/loop/resolver.hpp"
#include "host/metrics/metrics.hpp"
#include "host/plugin/host_context.hpp"
#include "host/plugin/instance.hpp"

namespace smg::check {

// What plugins did wrong in calls to the host: the first sentences of each kind.
class Complaints {
 public:
  enum class Kind { thread, order };

  void add(Kind kind, std::string text);
  // The first one, with how many more came; empty: none.
  std::string first(Kind kind) const;

 private:
  struct Entry {
    std::string text;
    std::size_t count = 0;
  };
  mutable std::mutex mutex_;
  Entry thread_;
  Entry order_;
};

class Rig {
 public:
  explicit Rig(std::uint32_t data_loops);
  ~Rig();
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  // Runs `body` there and waits for it; what it throws comes out here. Not to be called on a loop.
  void on_control(const std::function<void()>& body) { on_loop(loops_.data_count(), body); }
  void on_loop(std::uint32_t index, const std::function<void()>& body);
  // Returns when all that was posted or deferred so far has run.
  void settle();
  // Waits on the calling thread, which is no loop. False: `done` did not come true in that time.
  bool wait(const std::function<bool()>& done, std::uint64_t milliseconds);

  // On the control loop. nullptr, and a sentence in `problem`, on failure.
  std::unique_ptr<PluginInstance> create(const std::shared_ptr<const Plugin>& plugin,
                                         const PluginOptions& options, std::string& problem);
  // On the control loop, and settles.
  void destroy(std::unique_ptr<PluginInstance> instance);

  LoopGroup& loops() { return loops_; }
  Complaints& complaints() { return complaints_; }
  SinkDesk& streams() { return streams_; }
  FakeFleet& fleet() { return fleet_; }

 private:
  HostServices services();

  LoopGroup loops_;
  Metrics metrics_;
  Bus bus_;
  Resolver resolver_;
  Complaints complaints_;
  SinkDesk streams_;
  FakeFleet fleet_;
};

}  // namespace smg::check
