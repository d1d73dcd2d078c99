#include "host/config/checks.hpp"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <optional>

#include "host/config/credentials.hpp"
#include "host/config/settings.hpp"

namespace smg {
namespace {

void check_backoff(Draft& draft) {
  const Retry& retry = draft.config.retry;
  if (retry.max_backoff_ms < retry.initial_backoff_ms) {
    draft.problems.add(origin(draft, "retry.max_backoff_ms") + ": is " +
                       std::to_string(retry.max_backoff_ms) +
                       ", must be at least initial_backoff_ms, which is " +
                       std::to_string(retry.initial_backoff_ms));
  }
  for (const auto& worker : draft.config.workers) {
    const auto first = worker.resilience.initial_backoff_ms.value_or(retry.initial_backoff_ms);
    const auto last = worker.resilience.max_backoff_ms.value_or(retry.max_backoff_ms);
    const bool own = worker.resilience.initial_backoff_ms || worker.resilience.max_backoff_ms;
    if (!own || last >= first) continue;
    draft.problems.add("worker " + worker.url.text + ": resilience.max_backoff_ms is " +
                       std::to_string(last) + ", must be at least initial_backoff_ms, which is " +
                       std::to_string(first));
  }
}

void check_admission(Draft& draft) {
  const AdmissionConfig& admission = draft.config.admission;
  if (admission.queue_size == 0 || admission.queue_timeout_secs > 0) return;
  draft.problems.add(origin(draft, "admission.queue_timeout_secs") +
                     ": is 0, must be > 0 while queue_size is " +
                     std::to_string(admission.queue_size) + "; queue_size = 0 lets nobody wait");
}

bool overlap(const std::string& a, const std::string& b) {
  const auto is_any = [](const std::string& host) { return host == "0.0.0.0" || host == "::"; };
  return a == b || is_any(a) || is_any(b);
}

// No two listeners on one port.
void check_ports(Draft& draft) {
  struct Listener {
    std::string_view setting;
    std::string host;
    std::optional<std::uint16_t> port;
  };
  const Config& config = draft.config;
  const std::array<Listener, 3> listeners = {{
      {"server.port", config.server.host, config.server.port},
      {"server.health_check_port", config.server.host, config.server.health_check_port},
      {"metrics.port", config.metrics.host, config.metrics.port},
  }};
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const auto& a = listeners[j];
      const auto& b = listeners[i];
      if (!a.port || !b.port || *a.port != *b.port || !overlap(a.host, b.host)) continue;
      draft.problems.add(origin(draft, b.setting) + ": is " + std::to_string(*b.port) +
                         ", which is " + std::string(a.setting) + " already; choose another port");
    }
  }
}

void check_metrics_host(Config& config) {
  if (is_ip_address(config.metrics.host)) return;
  config.warnings.push_back("metrics.host '" + printable_text(config.metrics.host) +
                            "' is no IPv4 or IPv6 address: listening on " +
                            std::string(defaults::kAnyAddress));
  config.metrics.host = defaults::kAnyAddress;
}

// The directory, or the nearest one above it that is there, can be written.
void check_log_dir(Draft& draft) {
  if (draft.config.log.dir.empty()) return;
  std::error_code ignored;
  auto place = std::filesystem::absolute(draft.config.log.dir, ignored);
  while (!std::filesystem::exists(place, ignored) && place.has_relative_path()) {
    place = place.parent_path();
  }
  if (std::filesystem::is_directory(place, ignored) && access(place.c_str(), W_OK) == 0) return;
  draft.problems.add(origin(draft, "log.dir") + " = \"" + printable_text(draft.config.log.dir) +
                     "\": " + place.string() + " cannot be written");
}

void check_tls(Draft& draft) {
  const Tls& tls = draft.config.tls;
  if (tls.cert_path.empty() != tls.key_path.empty()) {
    const bool cert = !tls.cert_path.empty();
    draft.problems.add(origin(draft, cert ? "tls.cert_path" : "tls.key_path") + ": is set and " +
                       (cert ? "key_path" : "cert_path") + " is not; set both or none");
  }
  if (!tls.client_ca_path.empty() && tls.cert_path.empty()) {
    draft.problems.add(origin(draft, "tls.client_ca_path") +
                       ": is set without TLS; set cert_path and key_path as well");
  }
}

// Legal, and hardly what is meant.
void check_who_may_ask(Config& config) {
  const Auth& auth = config.auth;
  const bool jwt = !auth.jwt_issuer.empty() && !auth.jwt_audience.empty();
  if (!auth.tenant_api_keys.empty() && auth.api_key.empty() &&
      auth.control_plane_api_keys.empty() && !jwt) {
    config.warnings.push_back(
        "auth: there are keys of tenants only, so nobody may use admin routes (/workers, /plugins, "
        "/events, ...); set api_key, control_plane_api_keys, or jwt_issuer and jwt_audience");
  }
  for (const auto& [tenant, highest] : config.priority_scheduler.tenant_max_class) {
    const bool key = tenant.starts_with("auth:") || tenant.starts_with("header:") ||
                     tenant.starts_with("ip:") || tenant == "anonymous";
    if (key) continue;
    config.warnings.push_back(
        "priority_scheduler.tenant_policies.\"" + printable_text(tenant) +
        "\" is no tenant: the one of a key is written \"auth:" + printable_text(tenant) +
        "\", others begin with header: or ip:, or are anonymous");
  }
}

// What can be read but is not served: better refused than ignored.
void check_served(Draft& draft) {
  const Server& server = draft.config.server;
  if (server.dp_aware) {
    draft.problems.add(origin(draft, "server.dp_aware") +
                       ": this version does not expand workers into data-parallel ranks");
  }
  if (server.dp_minimum_tokens_scheduler) {
    draft.problems.add(origin(draft, "server.dp_minimum_tokens_scheduler") +
                       ": this version does not choose data-parallel ranks");
  }
  if (server.health_check_port) {
    draft.problems.add(origin(draft, "server.health_check_port") +
                       ": this version answers /health on the main port only");
  }
  if (server.stream_request_bodies_over != 0) {
    draft.problems.add(origin(draft, "server.stream_request_bodies_over") +
                       ": this version does not relay a request before it has arrived in full");
  }
  if (server.backend == "openai" || server.backend == "anthropic" || server.backend == "gemini") {
    draft.problems.add(origin(draft, "server.backend") + ": is \"" + server.backend +
                       "\", an external provider, which this version does not serve");
  }
  for (const auto& worker : draft.config.workers) {
    if (worker.url.base_path.ends_with("/v1")) {
      draft.config.warnings.push_back("worker " + worker.url.text +
                                      " ends in /v1: the gateway appends /v1/... itself, so "
                                      "give the address before it");
    }
    if (worker.worker_type == "regular") continue;
    draft.problems.add("worker " + worker.url.text + ": worker_type = \"" + worker.worker_type +
                       "\" is not served by this version; only regular is");
  }
}

}  // namespace

std::string origin(const Draft& draft, std::string_view setting) {
  if (const auto found = draft.origins.find(setting); found != draft.origins.end()) {
    return found->second;
  }
  const std::size_t dot = setting.find('.');
  return "[" + std::string(setting.substr(0, dot)) + "] " + std::string(setting.substr(dot + 1));
}

void check_together(Draft& draft) {
  Config& config = draft.config;
  check_backoff(draft);
  check_admission(draft);
  const std::uint64_t over = config.server.stream_request_bodies_over;
  if (over != 0 && over >= config.server.max_payload_size) {
    draft.problems.add(origin(draft, "server.stream_request_bodies_over") + ": is " +
                       std::to_string(over) + ", must be below max_payload_size, which is " +
                       std::to_string(config.server.max_payload_size));
  }
  check_metrics_host(config);
  check_ports(draft);
  check_log_dir(draft);
  check_tls(draft);
  check_served(draft);
  check_auth(draft);
  check_who_may_ask(config);
  const std::uint64_t stale = config.liveness.stale_secs;
  if (stale != 0 && stale <= config.load_monitor.interval_secs) {
    config.warnings.push_back(
        "liveness.stale_secs (" + std::to_string(stale) +
        ") is not above load_monitor.interval_secs (" +
        std::to_string(config.load_monitor.interval_secs) +
        "): a worker whose event stream stops is excluded before its next poll");
  }
}

}  // namespace smg
