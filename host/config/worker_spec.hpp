// What configuration says about one worker. Members that are not set inherit the gateway's value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/config/defaults.hpp"
#include "host/config/option_value.hpp"
#include "host/config/worker_url.hpp"

namespace smg {

struct WorkerOverload {
  std::optional<std::uint64_t> waiting_requests;  // >= 1
  std::optional<double> token_usage;              // (0, 1]

  bool operator==(const WorkerOverload&) const = default;
};

struct WorkerHealth {
  std::optional<std::uint64_t> timeout_secs;
  std::optional<std::uint64_t> check_interval_secs;
  std::optional<std::uint32_t> success_threshold;
  std::optional<std::uint32_t> failure_threshold;
  std::optional<bool> disable_health_check;
  std::optional<std::uint64_t> drain_settle_secs;

  bool operator==(const WorkerHealth&) const = default;
};

struct WorkerResilience {
  std::optional<std::uint32_t> max_retries;
  std::optional<std::uint64_t> initial_backoff_ms;
  std::optional<std::uint64_t> max_backoff_ms;
  std::optional<double> backoff_multiplier;
  std::optional<double> jitter_factor;
  std::optional<bool> disable_retry;
  std::optional<std::uint32_t> cb_failure_threshold;
  std::optional<std::uint32_t> cb_success_threshold;
  std::optional<std::uint64_t> cb_timeout_secs;
  std::optional<std::uint64_t> cb_window_secs;
  std::optional<bool> disable_circuit_breaker;
  std::optional<std::vector<std::uint16_t>> retryable_status_codes;
  std::optional<std::vector<std::uint16_t>> capacity_status_codes;

  bool changes_retries() const {
    return max_retries || initial_backoff_ms || max_backoff_ms || backoff_multiplier ||
           jitter_factor || disable_retry;
  }
  bool operator==(const WorkerResilience&) const = default;
};

// Of an https worker. Paths of PEM files; what is empty is as the transport's options say.
struct WorkerTls {
  std::vector<std::string> ca_cert_paths;
  std::string client_cert_path;
  std::string client_key_path;

  bool given() const {
    return !ca_cert_paths.empty() || !client_cert_path.empty() || !client_key_path.empty();
  }
  // What is wrong with it for a worker of that scheme, or nothing.
  std::string problem(std::string_view scheme) const;
  bool operator==(const WorkerTls&) const = default;
};

// Models of one worker that are taken in: a list without end would be a burden on everybody.
inline constexpr std::size_t kMostModels = 1024;

// A model that a worker serves.
struct ModelCard {
  ModelCard(std::string name) : id(std::move(name)) {}
  ModelCard(const char* name) : id(name) {}

  std::string id;
  std::vector<std::string> aliases;  // other names that requests may use
  std::string details;  // a JSON object of what else is known of it, or empty; routing ignores it

  bool operator==(const ModelCard&) const = default;
};

struct WorkerSpec {
  WorkerUrl url;
  std::vector<ModelCard> models;        // empty: ask the worker
  std::string worker_type = "regular";  // regular, prefill, decode, encode
  std::string runtime;                  // empty: detect
  StringMap labels;
  std::uint32_t priority = defaults::kWorkerPriority;
  double cost = defaults::kWorkerCost;
  std::string api_key;  // a secret: never in a message
  std::optional<std::uint64_t> load_monitor_interval_secs;
  WorkerOverload overload;
  WorkerHealth health;
  WorkerResilience resilience;
  WorkerTls tls;
  // A JSON object of what the admin API was given for other kinds of workers, or empty: it is shown
  // again and has no effect on this one.
  std::string carried;

  bool operator==(const WorkerSpec&) const = default;
};

// What can be changed of a worker without a look at it. Members that are not set stay as they are.
struct WorkerPatch {
  std::optional<std::uint32_t> priority;
  std::optional<double> cost;
  StringMap labels;  // one by one
  std::optional<std::string> api_key;
  WorkerHealth health;
};

}  // namespace smg
