// A worker's endpoint at its transport: opened once, shared by all versions of the worker behind
// one URL.
//
// Opened on the control thread. When the last holder lets go, on whatever thread, the endpoint is
// quiesced on every loop and closed on the control thread; Endpoints::all_closed() tells when that
// is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "host/fleet/worker.hpp"
#include "host/loop/loop_group.hpp"
#include "host/plugin/fault_meter.hpp"
#include "smg/transport.h"

namespace smg {

// A transport instance as the fleet needs it. Owned by the plugin registry; outlives every
// endpoint.
struct TransportRef {
  const smg_transport_api* api = nullptr;
  void* self = nullptr;
  std::string name;
  FaultMeter* faults = nullptr;  // of the instance; nullptr: nobody counts them
};

class Endpoint {
 public:
  Endpoint(const TransportRef& transport, std::unique_ptr<WorkerView> worker,
           std::shared_ptr<WorkerRuntime> runtime, void* handle)
      : transport_(transport),
        worker_(std::move(worker)),
        runtime_(std::move(runtime)),
        handle_(handle) {}

  const TransportRef& transport() const { return transport_; }
  const smg_transport_api& api() const { return *transport_.api; }
  void* handle() const { return handle_; }
  // Of the worker as the transport was shown it: that is how the transport calls it for good.
  std::uint64_t ref() const { return worker_->abi().ref; }

 private:
  const TransportRef& transport_;
  std::unique_ptr<WorkerView> worker_;  // what the transport was shown: must stay until close
  std::shared_ptr<WorkerRuntime> runtime_;
  void* handle_;
};

// Opens endpoints, and closes them where the rules of the ABI want it done. Outlives all of them.
class Endpoints {
 public:
  explicit Endpoints(LoopGroup& loops) : loops_(loops) {}

  // [control] nullptr and a sentence in `error` if the transport refuses, or is fenced.
  std::shared_ptr<Endpoint> open(const TransportRef& transport,
                                 const WorkerDescription& description,
                                 std::shared_ptr<WorkerRuntime> runtime, std::uint64_t ref,
                                 std::uint32_t slot, std::string& error);
  bool all_closed() const { return open_.load(std::memory_order_acquire) == 0; }
  // [any] What the endpoint with that ref was opened for; nullptr once it is closed.
  std::shared_ptr<WorkerRuntime> runtime_of(std::uint64_t ref) const;

 private:
  struct Closing;
  void close(std::unique_ptr<Endpoint> endpoint);

  LoopGroup& loops_;
  std::atomic<std::uint32_t> open_{0};
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<WorkerRuntime>> runtimes_;  // by ref
};

}  // namespace smg
