// The configuration of the gateway: TOML file and command line, merged, checked.
//
// Made by load.hpp. The control loop has the one that is in force and replaces it at a reload;
// every data loop has a `std::shared_ptr<const Config>` of its own. One struct per TOML section,
// with the section's keys as members. Times are in the unit that the name says (duration.hpp makes
// them nanoseconds), sizes are bytes. Every number is within the range that settings.cpp states for
// it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/config/defaults.hpp"
#include "host/config/option_value.hpp"
#include "host/config/worker_spec.hpp"

namespace smg {

struct Server {
  std::string host{defaults::kAnyAddress};  // an IPv4 or IPv6 address
  std::uint16_t port = defaults::kPort;
  std::optional<std::uint16_t> health_check_port;
  std::uint64_t max_payload_size = defaults::kMaxPayloadSize;
  std::uint64_t request_timeout_secs = defaults::kRequestTimeoutSecs;
  std::uint64_t shutdown_grace_period_secs = defaults::kShutdownGracePeriodSecs;
  std::uint64_t stream_request_bodies_over = defaults::kStreamRequestBodiesOver;         // 0: never
  std::uint64_t stream_body_stall_timeout_secs = defaults::kStreamBodyStallTimeoutSecs;  // 0: off
  std::vector<std::string> cors_allowed_origins;  // empty: any
  std::vector<std::string> request_id_headers{defaults::kRequestIdHeaders.begin(),
                                              defaults::kRequestIdHeaders.end()};
  std::uint32_t job_queue_capacity = defaults::kJobQueueCapacity;
  std::uint32_t job_queue_concurrency = defaults::kJobQueueConcurrency;
  std::optional<std::uint32_t> runtime_worker_threads;  // unset: the CPUs of the process
  std::uint64_t worker_startup_timeout_secs = defaults::kWorkerStartupTimeoutSecs;
  std::uint64_t worker_startup_delay_secs = defaults::kWorkerStartupDelaySecs;
  std::uint64_t worker_startup_check_interval_secs = defaults::kWorkerStartupCheckIntervalSecs;
  std::string backend;  // empty: detect
  bool watch_config = defaults::kWatchConfig;
  bool enable_igw = false;
  bool dp_aware = false;
  bool dp_minimum_tokens_scheduler = false;
  bool reuse_port = false;  // another process may listen on the same ports: hand-over at a restart

  bool operator==(const Server&) const = default;
};

struct Plugins {
  std::vector<std::string> paths{
      std::string(defaults::kPluginPath)};  // relative: to the working directory
  std::string run_dir;  // empty: a private one under the system's directory for temporary files
  bool watch = defaults::kPluginWatch;
  std::uint32_t max_faults = defaults::kPluginMaxFaults;  // 0: never fence
  std::uint64_t fault_window_secs = defaults::kPluginFaultWindowSecs;

  bool operator==(const Plugins&) const = default;
};

struct PolicyConfig {
  std::string name{defaults::kPolicy};
  StringMap models;  // model -> policy, where it is not `name`

  std::string_view name_for(std::string_view model) const {
    const auto found = models.find(model);
    return found == models.end() ? name : found->second;
  }
  bool operator==(const PolicyConfig&) const = default;
};

// Bounds on what clients may hold. Times in seconds, 0: no bound, unless it says otherwise.
struct Limits {
  std::uint64_t header_timeout_secs = defaults::kHeaderTimeoutSecs;  // handshake and head, each
  std::uint64_t body_timeout_secs = defaults::kBodyTimeoutSecs;      // for every kMinBodyProgress
  std::uint64_t idle_timeout_secs = defaults::kIdleTimeoutSecs;      // between two requests
  std::uint64_t write_timeout_secs = defaults::kWriteTimeoutSecs;    // a client takes nothing
  std::uint64_t stream_idle_timeout_secs = defaults::kStreamIdleTimeoutSecs;  // a worker sends none
  std::uint32_t max_connections = defaults::kMaxConnections;  // 0: what the descriptors allow
  std::uint32_t max_streams = defaults::kMaxStreams;          // 0: any number

  bool operator==(const Limits&) const = default;
};

// Concurrency limiter: a bucket of max_concurrent_requests, with a queue before it.
struct AdmissionConfig {
  std::int64_t max_concurrent_requests = defaults::kMaxConcurrentRequests;  // <= 0: off
  std::uint32_t queue_size = defaults::kQueueSize;
  std::uint64_t queue_timeout_secs = defaults::kQueueTimeoutSecs;
  std::optional<std::uint64_t> rate_limit_tokens_per_second;  // unset or 0: no refill

  bool operator==(const AdmissionConfig&) const = default;
};

// One row of the scheduler's table of classes.
struct PriorityClass {
  std::uint32_t reserved_floor = 0;
  double reserved_per_slot = 0;  // share of the capacity, [0, 1]
  std::uint32_t queue_size = 0;
  std::uint64_t queue_timeout_secs = 0;
  std::uint64_t starvation_threshold_secs = 0;
  bool can_preempt = false;

  bool operator==(const PriorityClass&) const = default;
};

struct PriorityScheduler {
  bool enabled = false;
  std::string default_max_class{defaults::kDefaultMaxClass};
  std::string config;  // a file with the tables below; empty: those of the main file
  std::uint32_t tenant_metric_top_n = defaults::kTenantMetricTopN;  // accepted, not used
  std::array<PriorityClass, 4> classes = defaults_of_classes();     // by rank: bulk to system
  StringMap tenant_max_class;                                       // tenant key -> class

  static std::array<PriorityClass, 4> defaults_of_classes();
  bool operator==(const PriorityScheduler&) const = default;
};

// Who may ask. Everything with a key in it is a secret.
struct Auth {
  std::string api_key;                              // the shared serving key; empty: none
  std::vector<std::string> tenant_api_keys;         // tenant:key
  std::vector<std::string> control_plane_api_keys;  // id:name:role:key
  bool trust_tenant_header = false;
  std::string tenant_header_name{defaults::kTenantHeader};
  std::string jwt_issuer;
  std::string jwt_audience;
  std::string jwt_jwks_uri;  // empty: discovered at the issuer
  std::string jwt_role_claim{defaults::kJwtRoleClaim};
  StringMap jwt_role_mapping;  // the identity provider's role -> admin or user
  bool disable_audit_logging = false;

  bool operator==(const Auth&) const = default;
};

// Of the main listener.
struct Tls {
  std::string cert_path;       // PEM chain; empty: no TLS
  std::string key_path;        // PEM
  std::string client_ca_path;  // PEM; set: admin routes ask for a certificate that it signed

  bool operator==(const Tls&) const = default;
};

// Keeps requests with the same routing key at one worker, around any policy that does not do so
// itself.
struct RoutingKeyOverride {
  bool enabled = false;
  std::vector<std::string> headers{std::string(defaults::kRoutingKeyHeader)};
  std::string assignment_mode{defaults::kAssignmentMode};
  std::uint64_t max_idle_secs = defaults::kMaxIdleSecs;  // 0: for ever
  std::uint64_t eviction_interval_secs = defaults::kEvictionIntervalSecs;

  bool operator==(const RoutingKeyOverride&) const = default;
};

struct Overload {
  bool protection = defaults::kOverloadProtection;
  std::uint64_t waiting_requests = defaults::kOverloadWaitingRequests;
  double token_usage = defaults::kOverloadTokenUsage;
  bool shed = false;

  bool operator==(const Overload&) const = default;
};

struct Liveness {
  std::uint64_t stall_secs = defaults::kStallSecs;  // 0: no silence needed
  std::uint64_t wedge_secs = defaults::kWedgeSecs;  // 0: off
  std::uint64_t stale_secs = defaults::kStaleSecs;  // 0: off

  bool operator==(const Liveness&) const = default;
};

struct LoadMonitor {
  std::uint64_t interval_secs = defaults::kLoadMonitorIntervalSecs;
  bool disabled = false;  // poll only when something needs the report
  bool engine_metrics = false;

  bool operator==(const LoadMonitor&) const = default;
};

struct HealthCheck {
  std::uint32_t failure_threshold = defaults::kHealthFailureThreshold;
  std::uint32_t success_threshold = defaults::kHealthSuccessThreshold;
  std::uint64_t timeout_secs = defaults::kHealthTimeoutSecs;
  std::uint64_t check_interval_secs = defaults::kHealthCheckIntervalSecs;
  std::string endpoint{defaults::kHealthEndpoint};
  bool disable_health_check = false;
  bool remove_unhealthy_workers = false;
  std::uint64_t drain_settle_secs = defaults::kDrainSettleSecs;  // 0: remove at once

  bool operator==(const HealthCheck&) const = default;
};

struct CircuitBreaker {
  std::uint32_t failure_threshold = defaults::kBreakerFailureThreshold;
  std::uint32_t success_threshold = defaults::kBreakerSuccessThreshold;
  std::uint64_t timeout_duration_secs = defaults::kBreakerTimeoutDurationSecs;
  std::uint64_t window_duration_secs = defaults::kBreakerWindowDurationSecs;
  bool disabled = false;

  bool operator==(const CircuitBreaker&) const = default;
};

struct Retry {
  std::uint32_t max_retries = defaults::kMaxRetries;  // attempts, the first one included
  std::uint64_t initial_backoff_ms = defaults::kInitialBackoffMs;
  std::uint64_t max_backoff_ms = defaults::kMaxBackoffMs;
  double backoff_multiplier = defaults::kBackoffMultiplier;
  double jitter_factor = defaults::kJitterFactor;
  bool disabled = false;

  bool operator==(const Retry&) const = default;
};

struct Pd {
  std::uint64_t admission_wait_secs = defaults::kAdmissionWaitSecs;  // 0: shed at once

  bool operator==(const Pd&) const = default;
};

struct MetricsConfig {
  std::string host{defaults::kAnyAddress};
  std::uint16_t port = defaults::kMetricsPort;
  std::vector<double> duration_buckets{defaults::kDurationBuckets.begin(),
                                       defaults::kDurationBuckets.end()};  // s, ascending

  bool operator==(const MetricsConfig&) const = default;
};

struct Log {
  std::string level{defaults::kLogLevel};  // debug, info, warn, error
  bool json = false;
  std::string dir;     // empty: standard output only
  bool access = true;  // a line for every request

  bool operator==(const Log&) const = default;
};

struct Models {
  StringMap aliases;  // alias -> canonical id

  bool operator==(const Models&) const = default;
};

struct Config {
  Server server;
  Plugins plugins;
  Limits limits;
  AdmissionConfig admission;
  PriorityScheduler priority_scheduler;
  Auth auth;
  Tls tls;
  PolicyConfig policy;
  RoutingKeyOverride routing_key_override;
  Overload overload;
  Liveness liveness;
  LoadMonitor load_monitor;
  HealthCheck health_check;
  CircuitBreaker circuit_breaker;
  Retry retry;
  Pd pd;
  MetricsConfig metrics;
  Log log;
  Models models;
  std::vector<WorkerSpec> workers;  // no two with the same endpoint

  // For every loaded plugin, by kind (SMG_KIND_*) and name.
  std::map<std::pair<std::uint32_t, std::string>, PluginOptions> plugin_options;
  // The same for instances that a worker's label asks for, whose defaults may differ.
  std::map<std::pair<std::uint32_t, std::string>, PluginOptions> label_options;
  std::vector<std::string> warnings;  // legal, but worth a line in the log

  bool operator==(const Config&) const = default;
};

}  // namespace smg
