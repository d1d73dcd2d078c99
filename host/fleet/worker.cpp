#include "host/fleet/worker.hpp"

#include "host/base/views.hpp"

namespace smg {

WorkerView::WorkerView(WorkerDescription description, const smg_worker_live* live,
                       std::uint64_t ref, std::uint32_t slot)
    : description_(std::move(description)) {
  for (const auto& model : description_.models) models_.push_back(view(model.id));
  for (const auto& [key, value] : description_.labels) labels_.push_back({view(key), view(value)});
  abi_.struct_size = sizeof abi_;
  abi_.type = description_.type;
  abi_.ref = ref;
  abi_.slot = slot;
  abi_.dp_rank = description_.dp_rank;
  abi_.dp_size = description_.dp_size;
  abi_.priority = description_.priority;
  abi_.cost = description_.cost;
  abi_.id = view(description_.id);
  abi_.url = view(description_.url);
  abi_.base_url = view(description_.base_url);
  abi_.scheme = view(description_.scheme);
  abi_.host = view(description_.host);
  abi_.base_path = view(description_.base_path);
  abi_.port = description_.port;
  abi_.models = models_.data();
  abi_.model_count = static_cast<std::uint32_t>(models_.size());
  abi_.runtime = view(description_.runtime);
  abi_.api_key = view(description_.api_key);
  abi_.labels = labels_.data();
  abi_.label_count = static_cast<std::uint32_t>(labels_.size());
  abi_.live = live;
  const WorkerTls& tls = description_.tls;
  if (!tls.given()) return;
  for (const auto& path : tls.ca_cert_paths) ca_files_.push_back(view(path));
  tls_.struct_size = sizeof tls_;
  tls_.ca_file_count = static_cast<std::uint32_t>(ca_files_.size());
  tls_.ca_files = ca_files_.data();
  tls_.client_cert = view(tls.client_cert_path);
  tls_.client_key = view(tls.client_key_path);
  abi_.tls = &tls_;
}

Worker::Worker(WorkerDescription description, std::shared_ptr<WorkerRuntime> runtime,
               std::uint64_t ref, std::uint32_t slot, std::shared_ptr<Endpoint> endpoint,
               Series requests_active)
    : runtime_(std::move(runtime)),
      view_(std::move(description), &runtime_->live, ref, slot),
      endpoint_(std::move(endpoint)),
      requests_active_(requests_active) {
  const auto& key = view_.description().api_key;
  if (!key.empty()) authorization_ = "Bearer " + key;
}

const char* worker_type_name(std::uint32_t type) {
  static constexpr const char* kNames[] = {"regular", "prefill", "decode", "encode"};
  return type < 4 ? kNames[type] : "regular";
}

const char* connection_mode_name(std::string_view scheme) {
  if (scheme == "ipc") return "zmq";
  return scheme == "grpc" || scheme == "grpcs" ? "grpc" : "http";
}

const char* status_name(std::uint32_t state) {
  static constexpr const char* kNames[] = {"pending", "ready", "not_ready", "failed", "draining"};
  const std::uint32_t status = state & SMG_STATE_STATUS_MASK;
  return status < 5 ? kNames[status] : "pending";
}

}  // namespace smg
