// One registered worker: its immutable description, its live block, and its endpoint at a
// transport.
//
// Immutable once made, its endpoint aside, and shared: the registry, snapshots and requests in
// flight hold it. The last of them lets it go, on whatever thread, and with it the endpoint.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/config/worker_spec.hpp"
#include "host/fleet/worker_runtime.hpp"
#include "host/metrics/metrics.hpp"
#include "smg/transport.h"
#include "smg/worker.h"

namespace smg {

class Endpoint;

// What a worker is made from: configuration or registration, merged with what probing found out.
struct WorkerDescription {
  std::string id;  // UUID
  std::string url;
  std::string base_url;
  std::string scheme;
  std::string host;
  std::string base_path;
  std::uint16_t port = 0;
  std::uint32_t type = SMG_WORKER_REGULAR;
  std::int32_t dp_rank = -1;
  std::uint32_t dp_size = 1;
  std::uint32_t priority = 50;
  double cost = 1.0;
  std::vector<ModelCard> models;
  std::string runtime;
  std::string api_key;
  std::vector<std::pair<std::string, std::string>> labels;
  std::optional<std::uint64_t> load_monitor_interval_secs;
  WorkerOverload overload;
  WorkerHealth health;
  WorkerResilience resilience;
  WorkerTls tls;
  std::string carried;  // WorkerSpec::carried
};

// A description together with the smg_worker that points into it.
class WorkerView {
 public:
  WorkerView(WorkerDescription description, const smg_worker_live* live, std::uint64_t ref,
             std::uint32_t slot);
  WorkerView(const WorkerView&) = delete;
  WorkerView& operator=(const WorkerView&) = delete;

  const WorkerDescription& description() const { return description_; }
  const smg_worker& abi() const { return abi_; }

 private:
  WorkerDescription description_;
  std::vector<smg_view> models_;
  std::vector<smg_label> labels_;
  std::vector<smg_view> ca_files_;
  smg_worker_tls tls_{};
  smg_worker abi_{};
};

class Worker : public std::enable_shared_from_this<Worker> {
 public:
  Worker(WorkerDescription description, std::shared_ptr<WorkerRuntime> runtime, std::uint64_t ref,
         std::uint32_t slot, std::shared_ptr<Endpoint> endpoint, Series requests_active);

  const smg_worker& view() const { return view_.abi(); }
  const WorkerDescription& description() const { return view_.description(); }
  const std::string& url() const { return description().url; }
  smg_worker_live& live() const { return runtime_->live; }
  const std::shared_ptr<WorkerRuntime>& runtime() const { return runtime_; }
  // [control] Requests take theirs from the pool that they chose from.
  const std::shared_ptr<Endpoint>& endpoint() const { return endpoint_; }
  void move_to(std::shared_ptr<Endpoint> endpoint) { endpoint_ = std::move(endpoint); }
  std::uint32_t state() const { return smg_worker_state(&live()); }
  // `Bearer <key>` for requests that bring no credential of their own; empty without a key.
  const std::string& authorization() const { return authorization_; }
  Series requests_active() const { return requests_active_; }

  // One more, or one less, request of ours on the worker. Any thread.
  void enter() const {
    __atomic_fetch_add(&live().in_flight, 1u, __ATOMIC_RELAXED);
    __atomic_fetch_add(&live().dispatched, std::uint64_t{1}, __ATOMIC_RELAXED);
  }
  void leave() const { __atomic_fetch_sub(&live().in_flight, 1u, __ATOMIC_RELAXED); }

 private:
  std::shared_ptr<WorkerRuntime> runtime_;
  WorkerView view_;
  std::shared_ptr<Endpoint> endpoint_;
  std::string authorization_;
  Series requests_active_;
};

const char* worker_type_name(std::uint32_t type);
const char* connection_mode_name(std::string_view scheme);
const char* status_name(std::uint32_t state);  // of the status bits of a state word

}  // namespace smg
