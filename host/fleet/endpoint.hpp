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

class PluginInstance;

// A transport instance as the fleet needs it. Its endpoints share it; who lets it go last ends the
// instance.
struct TransportRef {
  const smg_transport_api* api = nullptr;
  void* self = nullptr;
  std::string name;
  FaultMeter* faults = nullptr;              // of the instance; nullptr: nobody counts them
  std::shared_ptr<PluginInstance> instance;  // what `api` and `self` are of
};
using TransportPtr = std::shared_ptr<const TransportRef>;

class Endpoint {
 public:
  Endpoint(TransportPtr transport, std::unique_ptr<WorkerView> worker,
           std::shared_ptr<WorkerRuntime> runtime, void* handle)
      : transport_(std::move(transport)),
        worker_(std::move(worker)),
        runtime_(std::move(runtime)),
        handle_(handle) {}

  const TransportPtr& transport() const { return transport_; }
  const smg_transport_api& api() const { return *transport_->api; }
  void* self() const { return transport_->self; }
  void* handle() const { return handle_; }
  // Of the worker as the transport was shown it: that is how the transport calls it for good.
  std::uint64_t ref() const { return worker_->abi().ref; }

 private:
  const TransportPtr transport_;
  std::unique_ptr<WorkerView> worker_;  // what the transport was shown: must stay until close
  std::shared_ptr<WorkerRuntime> runtime_;
  void* handle_;
};

// Opens endpoints, and closes them where the rules of the ABI want it done. Outlives all of them.
class Endpoints {
 public:
  explicit Endpoints(LoopGroup& loops) : loops_(loops) {}

  // [control] nullptr and a sentence in `error` if the transport refuses, or is fenced.
  std::shared_ptr<Endpoint> open(const TransportPtr& transport,
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
  // By ref. While a transport is exchanged, a worker has an endpoint at each under the same one.
  std::unordered_multimap<std::uint64_t, std::shared_ptr<WorkerRuntime>> runtimes_;
};

}  // namespace smg
