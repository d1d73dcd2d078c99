// Control calls to workers: one request, one whole answer, through the worker's own transport.
//
// Control loop only. Load polls, cache flushes and the like go this way, so a monitor or an admin
// route needs no client of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "host/fleet/registry.hpp"
#include "host/fleet/stream_table.hpp"
#include "host/loop/loop.hpp"
#include "smg/host.h"

namespace smg {

class Calls {
 public:
  static constexpr std::uint64_t kMaxResponse = 16 * 1024 * 1024;  // unless the call says otherwise

  // On the control loop's thread.
  Calls(Loop& control, const Registry& registry);
  ~Calls();  // cancels what still runs
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  // A handle, never 0. `done` is called once, never from within start, unless the call is
  // cancelled. A worker that is gone is an answer like any other failure.
  // `caller`: number of the FaultMeter that is to blame for what `done` throws.
  std::uint64_t start(std::uint64_t worker_ref, const smg_call& call, smg_call_fn done,
                      void* context, std::uint32_t caller = 0);
  void cancel(std::uint64_t handle);
  // The gateway stops: what runs ends as refused, so that it holds no worker any longer.
  void end_all();

 private:
  class Call;

  Loop& control_;
  const Registry& registry_;
  StreamTable table_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Call>> running_;
  std::uint64_t next_handle_ = 1;
};

}  // namespace smg
