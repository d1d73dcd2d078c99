#include "host/admin/worker_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include "host/admin/load_json.hpp"
#include "host/metrics/utf8.hpp"

namespace smg {
namespace {

namespace json = boost::json;

// What was kept as text.
void add_kept(json::object& to, const std::string& kept) {
  if (kept.empty()) return;
  const json::value value = json::parse(kept);
  for (const auto& [key, item] : value.get_object()) to[key] = item;
}

json::array cards_json(const std::vector<ModelCard>& cards) {
  json::array out;
  for (const auto& card : cards) {
    json::object item;
    item["id"] = card.id;
    if (!card.aliases.empty())
      item["aliases"] = json::array(card.aliases.begin(), card.aliases.end());
    item["model_type"] = {"chat", "completions", "responses", "tools"};
    add_kept(item, card.details);
    out.push_back(std::move(item));
  }
  return out;
}

json::object tls_json(const WorkerTls& tls) {
  json::object out;
  json::array paths;
  for (const auto& path : tls.ca_cert_paths) paths.push_back(json::string(valid_utf8(path)));
  if (!paths.empty()) out["ca_cert_paths"] = std::move(paths);
  if (!tls.client_cert_path.empty()) {
    out["client_cert_path"] = valid_utf8(tls.client_cert_path);
    out["client_key_path"] = valid_utf8(tls.client_key_path);
  }
  return out;
}

json::object job_json(const JobRecord& job) {
  json::object out;
  out["job_type"] = json::string(name_of(job.type));
  out["worker_url"] = job.worker_url;
  out["status"] = json::string(name_of(job.status));
  if (!job.message.empty()) out["message"] = valid_utf8(job.message);
  out["timestamp"] = job.timestamp;
  return out;
}

}  // namespace

json::object worker_json(const Worker& worker, const LoadReport* report, const JobRecord* job) {
  const WorkerDescription& description = worker.description();
  // One look at the state word: status, is_healthy and stalled agree.
  const std::uint32_t state = worker.state();
  json::object out;
  out["id"] = description.id;
  out["url"] = description.url;
  if (!description.models.empty()) {
    out["model_id"] = description.models.front().id;
    out["models"] = cards_json(description.models);
  }
  out["worker_type"] = worker_type_name(description.type);
  out["connection_mode"] = connection_mode_name(description.scheme);
  out["runtime_type"] = description.runtime.empty() ? "unspecified" : description.runtime;
  json::object labels;
  for (const auto& [key, value] : description.labels) labels[valid_utf8(key)] = valid_utf8(value);
  if (!labels.empty()) out["labels"] = std::move(labels);
  out["priority"] = description.priority;
  out["cost"] = description.cost;
  json::object overload;
  if (description.overload.waiting_requests) {
    overload["waiting_requests"] = *description.overload.waiting_requests;
  }
  if (description.overload.token_usage) overload["token_usage"] = *description.overload.token_usage;
  if (!overload.empty()) out["overload"] = std::move(overload);
  if (description.load_monitor_interval_secs) {
    out["load_monitor_interval_secs"] = *description.load_monitor_interval_secs;
  }
  if (description.tls.given()) out["tls"] = tls_json(description.tls);
  add_kept(out, description.carried);
  out["is_healthy"] = (state & SMG_STATE_STATUS_MASK) == SMG_STATUS_READY;
  out["status"] = status_name(state);
  out["load"] = __atomic_load_n(&worker.live().in_flight, __ATOMIC_RELAXED);
  // What keeps it out of routing besides its status, while it does.
  if ((state & SMG_STATE_OVERLOADED) != 0) out["overloaded"] = true;
  if ((state & SMG_STATE_BREAKER_OPEN) != 0) out["circuit_breaker"] = "open";
  if ((state & SMG_STATE_BREAKER_HALF_OPEN) != 0) out["circuit_breaker"] = "half_open";
  if ((state & SMG_STATE_UNREACHABLE) != 0) out["stalled"] = "unreachable";
  if ((state & SMG_STATE_WEDGED) != 0) out["stalled"] = "wedged";
  if (report != nullptr) out["engine_load"] = load_json(*report);
  if (job != nullptr) out["job_status"] = job_json(*job);
  return out;
}

json::object reserved_json(std::string_view id, const JobRecord& job) {
  const WorkerSpec defaults;
  json::object out;
  out["id"] = json::string(id);
  out["url"] = job.worker_url;
  out["worker_type"] = defaults.worker_type;
  out["connection_mode"] = "http";
  out["runtime_type"] = "unspecified";
  out["priority"] = defaults.priority;
  out["cost"] = defaults.cost;
  out["is_healthy"] = false;
  out["status"] = "pending";
  out["load"] = 0;
  out["job_status"] = job_json(job);
  return out;
}

}  // namespace smg
