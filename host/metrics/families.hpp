// Every metric family of the gateway itself, in one place: what an operator can build alerts on.
//
// The descriptors say name, type, meaning and labels; Families registers them and holds the
// handles. Series of label-less families are made at once, so that they are shown as 0 from the
// start. Plugins register further ones.
#pragma once

#include "host/metrics/families_http.hpp"
#include "host/metrics/metrics.hpp"

namespace smg {

namespace family {

// ---- Router layer.
inline constexpr FamilyDescriptor kRouterRequests{
    "smg_router_requests_total",
    MetricType::kCounter,
    "Requests that were routed",
    {"router_type", "backend_type", "connection_mode", "model", "endpoint", "streaming"}};
inline constexpr FamilyDescriptor kRouterRequestDuration{
    "smg_router_request_duration_seconds",
    MetricType::kHistogram,
    "Time to route and answer requests that ended with 2xx",
    {"router_type", "backend_type", "connection_mode", "model", "endpoint"}};
inline constexpr FamilyDescriptor kRouterRequestErrors{
    "smg_router_request_errors_total",
    MetricType::kCounter,
    "Requests that failed for good, retries included",
    {"router_type", "backend_type", "connection_mode", "model", "endpoint", "error_type"}};
inline constexpr FamilyDescriptor kRouterUpstreamResponses{
    "smg_router_upstream_responses_total",
    MetricType::kCounter,
    "Answers per attempt, those made by the gateway included",
    {"router_type", "status_code", "error_code"}};
inline constexpr FamilyDescriptor kRouterUpstreamSendRetries{
    "smg_router_upstream_send_retries_total",
    MetricType::kCounter,
    "Requests sent again because a kept connection turned out to be stale",
    {"router_type"}};
inline constexpr FamilyDescriptor kRouterBuffersReleasedEarly{
    "smg_router_request_buffers_released_early_bytes_total", MetricType::kCounter,
    "Bytes of request bodies freed while the answer was still going on"};
inline constexpr FamilyDescriptor kRouterResponsesCut{
    "smg_router_responses_cut_total", MetricType::kCounter,
    "Answers that ended early because the worker failed in the middle"};
inline constexpr FamilyDescriptor kRoutingKeySource{
    "smg_routing_key_source_total",
    MetricType::kCounter,
    "Requests with a routing key, by where it stood: rid, header",
    {"source"}};

// As the policy `manual` has them, which a plugin may register as well.
inline constexpr FamilyDescriptor kManualPolicyBranch{
    "smg_manual_policy_branch_total",
    MetricType::kCounter,
    "Choices by routing key, by how they came about",
    {"branch"}};
inline constexpr FamilyDescriptor kManualPolicyCacheEntries{
    "smg_manual_policy_cache_entries", MetricType::kGauge, "Routing keys that have a worker"};

// ---- Worker layer. `worker` is the URL, `@rank` included.
inline constexpr FamilyDescriptor kWorkerPoolSize{"smg_worker_pool_size",
                                                  MetricType::kGauge,
                                                  "Workers registered",
                                                  {"worker_type", "connection_mode", "model"}};
inline constexpr FamilyDescriptor kWorkerConnectionsActive{
    "smg_worker_connections_active",
    MetricType::kUpDownCounter,
    "Connections to workers that carry a request",
    {"worker_type", "connection_mode"}};
inline constexpr FamilyDescriptor kWorkerRoutingKeysActive{
    "smg_worker_routing_keys_active",
    MetricType::kGauge,
    "Different routing keys among the requests that run on the worker",
    {"worker"}};
inline constexpr FamilyDescriptor kWorkerRequestsActive{"smg_worker_requests_active",
                                                        MetricType::kUpDownCounter,
                                                        "Requests running on the worker",
                                                        {"worker"}};
inline constexpr FamilyDescriptor kWorkerHealth{
    "smg_worker_health", MetricType::kGauge, "1 ready, 0 not ready, -1 removed", {"worker"}};
inline constexpr FamilyDescriptor kWorkerSelection{
    "smg_worker_selection_total",
    MetricType::kCounter,
    "Choices of a worker",
    {"worker_type", "connection_mode", "model", "policy"}};
inline constexpr FamilyDescriptor kWorkerErrors{"smg_worker_errors_total",
                                                MetricType::kCounter,
                                                "Answers of workers with a 5xx status",
                                                {"worker_type", "connection_mode", "error_type"}};

inline constexpr FamilyDescriptor kWorkerHealthChecks{"smg_worker_health_checks_total",
                                                      MetricType::kCounter,
                                                      "Probes: success, failure",
                                                      {"worker_type", "result"}};
inline constexpr FamilyDescriptor kWorkerRetries{"smg_worker_retries_total",
                                                 MetricType::kCounter,
                                                 "Attempts that were followed by another",
                                                 {"worker_type", "endpoint"}};
inline constexpr FamilyDescriptor kWorkerRetriesExhausted{
    "smg_worker_retries_exhausted_total",
    MetricType::kCounter,
    "Requests whose last attempt would have been tried again",
    {"worker_type", "endpoint"}};
inline constexpr FamilyDescriptor kWorkerRetryBackoff{"smg_worker_retry_backoff_seconds",
                                                      MetricType::kHistogram,
                                                      "Wait before the attempt of that number",
                                                      {"attempt"}};
inline constexpr FamilyDescriptor kWorkerCbState{"smg_worker_cb_state",
                                                 MetricType::kGauge,
                                                 "Circuit breaker: 0 closed, 1 open, 2 half-open, "
                                                 "-1 removed",
                                                 {"worker"}};
inline constexpr FamilyDescriptor kWorkerCbTransitions{"smg_worker_cb_transitions_total",
                                                       MetricType::kCounter,
                                                       "Changes of the circuit breaker",
                                                       {"worker", "from", "to"}};
inline constexpr FamilyDescriptor kWorkerCbOutcomes{"smg_worker_cb_outcomes_total",
                                                    MetricType::kCounter,
                                                    "Attempts as the circuit breaker counts them: "
                                                    "success, failure",
                                                    {"worker", "outcome"}};
inline constexpr FamilyDescriptor kWorkerCbFailures{
    "smg_worker_cb_consecutive_failures", MetricType::kGauge, "Failures in a row", {"worker"}};
inline constexpr FamilyDescriptor kWorkerCbSuccesses{"smg_worker_cb_consecutive_successes",
                                                     MetricType::kGauge,
                                                     "Successes in a row while half-open",
                                                     {"worker"}};

// ---- Overload protection and liveness.
inline constexpr FamilyDescriptor kWorkersOverloaded{
    "smg_workers_overloaded", MetricType::kGauge, "Workers at or over a ceiling", {"model"}};
inline constexpr FamilyDescriptor kWorkerOverloaded{
    "smg_worker_overloaded",
    MetricType::kGauge,
    "1 while the worker is out because it is at or over a ceiling",
    {"worker"}};
inline constexpr FamilyDescriptor kOverloadShed{
    "smg_worker_overload_shed_total",
    MetricType::kCounter,
    "Requests refused because all workers are overloaded",
    {"stage"}};
inline constexpr FamilyDescriptor kOverloadFallback{
    "smg_worker_overload_fallback_total",
    MetricType::kCounter,
    "Requests steered to the least loaded of the overloaded workers",
    {"stage"}};
inline constexpr FamilyDescriptor kLivenessFallback{
    "smg_worker_liveness_fallback_total",
    MetricType::kCounter,
    "Requests steered to a worker that liveness doubts",
    {"stage"}};
inline constexpr FamilyDescriptor kWorkerStalled{"smg_worker_stalled",
                                                 MetricType::kGauge,
                                                 "1 while liveness keeps the worker out, by reason",
                                                 {"worker", "reason"}};
inline constexpr FamilyDescriptor kWorkerStallTransitions{"smg_worker_stall_transitions_total",
                                                          MetricType::kCounter,
                                                          "Vetoes of liveness, by reason",
                                                          {"worker", "reason"}};
inline constexpr FamilyDescriptor kLoadReports{
    "smg_load_reports_total",
    MetricType::kCounter,
    "Polls and pushes by their source and result: ok, or "
    "why there was no report",
    {"source", "result"}};
inline constexpr FamilyDescriptor kLoadReportAge{
    "smg_load_report_age_seconds",
    MetricType::kGauge,
    "Age of the worker's last load report; -1 without one",
    {"worker"}};
inline constexpr FamilyDescriptor kEngineRunning{
    "smg_engine_running_requests",
    MetricType::kGauge,
    "Running requests, as the engine reports; -1 unknown",
    {"worker", "model", "dp_rank"}};
inline constexpr FamilyDescriptor kEngineWaiting{
    "smg_engine_waiting_requests",
    MetricType::kGauge,
    "Waiting requests, as the engine reports; -1 unknown",
    {"worker", "model", "dp_rank"}};
inline constexpr FamilyDescriptor kEngineTokenUsage{"smg_engine_token_usage",
                                                    MetricType::kGauge,
                                                    "Used share of the KV cache; -1 unknown",
                                                    {"worker", "model", "dp_rank"}};
inline constexpr FamilyDescriptor kEngineThroughput{"smg_engine_gen_throughput",
                                                    MetricType::kGauge,
                                                    "Generated tokens per second; -1 unknown",
                                                    {"worker", "model", "dp_rank"}};
inline constexpr FamilyDescriptor kEngineCacheHitRate{"smg_engine_cache_hit_rate",
                                                      MetricType::kGauge,
                                                      "Hit rate of the prefix cache; -1 unknown",
                                                      {"worker", "model", "dp_rank"}};

inline constexpr FamilyDescriptor kEnginePdTransferLatency{
    "smg_engine_pd_kv_transfer_latency_ms",
    MetricType::kGauge,
    "Latency of KV transfers of a disaggregated engine; -1 unknown",
    {"worker", "role", "dp_rank"}};
inline constexpr FamilyDescriptor kEnginePdTransferSpeed{
    "smg_engine_pd_kv_transfer_speed_gb_s",
    MetricType::kGauge,
    "Speed of KV transfers of a disaggregated engine; -1 unknown",
    {"worker", "role", "dp_rank"}};
inline constexpr FamilyDescriptor kEnginePdPrefillQueue{
    "smg_engine_pd_prefill_queue_reqs",
    MetricType::kGauge,
    "Requests that wait for or run prefill on a disaggregated engine; -1 unknown",
    {"worker", "role", "dp_rank"}};
inline constexpr FamilyDescriptor kEnginePdDecodeQueue{
    "smg_engine_pd_decode_queue_reqs",
    MetricType::kGauge,
    "Requests that wait for decode on a disaggregated engine; -1 unknown",
    {"worker", "role", "dp_rank"}};
inline constexpr FamilyDescriptor kPdAdmissionWaits{
    "smg_pd_admission_waits_total", MetricType::kCounter,
    "Disaggregated requests that waited for room on their decode worker"};
inline constexpr FamilyDescriptor kPdAdmissionSheds{
    "smg_pd_admission_sheds_total", MetricType::kCounter,
    "Disaggregated requests refused because their decode worker had no room in time"};

// ---- The gateway about itself.
inline constexpr FamilyDescriptor kPluginFaults{
    "smg_plugin_faults_total",
    MetricType::kCounter,
    "Calls of a plugin, or to one, that broke the rules",
    {"plugin", "kind"}};
inline constexpr FamilyDescriptor kPluginGeneration{
    "smg_plugin_generation",
    MetricType::kGauge,
    "Generation of the library in service: rises with every copy that is loaded",
    {"library"}};
inline constexpr FamilyDescriptor kPluginReloadSteps{
    "smg_plugin_reload_steps_total",
    MetricType::kCounter,
    "Steps of reloads: copy, canary, create, swap, retire; ok, failed, or kept_mapped",
    {"library", "step", "result"}};
inline constexpr FamilyDescriptor kPluginReloadDuration{
    "smg_plugin_reload_step_duration_seconds",
    MetricType::kHistogram,
    "Time that the steps of reloads took which did not fail",
    {"step"}};
inline constexpr FamilyDescriptor kPluginFenced{
    "smg_plugin_fenced",
    MetricType::kGauge,
    "Instances of a plugin whose role was given to a default after too many faults",
    {"kind", "plugin"}};
inline constexpr FamilyDescriptor kConfigGeneration{
    "smg_config_generation", MetricType::kGauge,
    "Generation of the configuration in force: 1 at the start, one more with each reload"};
inline constexpr FamilyDescriptor kConfigReloads{
    "smg_config_reloads_total",
    MetricType::kCounter,
    "Reloads of the configuration: applied, unchanged, or failed and without effect",
    {"result"}};
inline constexpr FamilyDescriptor kBusEventsDropped{"smg_bus_events_dropped_total",
                                                    MetricType::kCounter,
                                                    "Events lost by a subscriber that was too slow",
                                                    {"subscriber"}};

}  // namespace family

// REQUIRES: `metrics` outlives it, and nobody registered one of these names as something else.
struct Families {
  explicit Families(Metrics& metrics);

  Family& http_requests;
  Family& http_request_duration;
  Family& http_responses;
  Series http_connections_active;
  Family& http_inflight_request_age;
  Family& http_rate_limit;
  Family& http_client_aborts;
  Series admission_queue_depth;
  Series admission_inflight;
  Family& admission_queue_rejected;
  Series http_connections_open;
  Series http_streams_active;
  Family& http_limit_rejections;
  Family& http_tls_handshakes;
  Series tls_certificate_expiry;
  Family& tls_certificate_reloads;
  Series access_log_dropped;

  Family& auth_rejections;
  Family& jwks_refreshes;

  Family& scheduler_admit;
  Family& scheduler_queue_wait;
  Family& scheduler_preemption;
  Family& scheduler_clamp;
  Family& scheduler_unknown_priority;
  Family& scheduler_starvation;
  Family& scheduler_inflight;
  Family& scheduler_queue_depth;
  Family& scheduler_queue_limit;
  Family& scheduler_utilization;
  Family& scheduler_pressure;

  Family& router_requests;
  Family& router_request_duration;
  Family& router_request_errors;
  Family& router_upstream_responses;
  Family& router_upstream_send_retries;
  Series router_buffers_released_early;
  Series router_responses_cut;
  Family& routing_key_source;
  Family& manual_policy_branch;
  Family& manual_policy_cache_entries;

  Family& worker_pool_size;
  Family& worker_connections_active;
  Family& worker_routing_keys_active;
  Family& worker_requests_active;
  Family& worker_health;
  Family& worker_selection;
  Family& worker_errors;
  Family& worker_health_checks;
  Family& worker_retries;
  Family& worker_retries_exhausted;
  Family& worker_retry_backoff;
  Family& worker_cb_state;
  Family& worker_cb_transitions;
  Family& worker_cb_outcomes;
  Family& worker_cb_failures;
  Family& worker_cb_successes;

  Family& workers_overloaded;
  Family& worker_overloaded;
  Family& overload_shed;
  Family& overload_fallback;
  Family& liveness_fallback;
  Family& worker_stalled;
  Family& worker_stall_transitions;
  Family& load_reports;
  Family& load_report_age;
  Family& engine_running;
  Family& engine_waiting;
  Family& engine_token_usage;
  Family& engine_throughput;
  Family& engine_cache_hit_rate;
  Family& engine_pd_transfer_latency;
  Family& engine_pd_transfer_speed;
  Family& engine_pd_prefill_queue;
  Family& engine_pd_decode_queue;
  Series pd_admission_waits;
  Series pd_admission_sheds;

  Family& plugin_faults;
  Family& plugin_generation;
  Family& plugin_reload_steps;
  Family& plugin_reload_duration;
  Series config_generation;
  Family& config_reloads;
  Family& bus_events_dropped;
};

}  // namespace smg
