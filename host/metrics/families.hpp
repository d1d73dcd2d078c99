// Every metric family of the gateway itself, in one place: what an operator can build alerts on.
//
// The descriptors say name, type, meaning and labels; Families registers them and holds the
// handles. Series of label-less families are made at once, so that they are shown as 0 from the
// start. Plugins register further ones.
#pragma once

#include "host/metrics/metrics.hpp"

namespace smg {

namespace family {

// ---- HTTP layer. `path` is the route template, `other` where none matched.
inline constexpr FamilyDescriptor kHttpRequests{
    "smg_http_requests_total", MetricType::kCounter, "Requests that arrived", {"method", "path"}};
inline constexpr FamilyDescriptor kHttpRequestDuration{
    "smg_http_request_duration_seconds",
    MetricType::kHistogram,
    "Time from the arrival of a request to the head of its answer",
    {"method", "path"}};
inline constexpr FamilyDescriptor kHttpResponses{"smg_http_responses_total",
                                                 MetricType::kCounter,
                                                 "Answers whose head was sent",
                                                 {"path", "status_code", "error_code"}};
inline constexpr FamilyDescriptor kHttpConnectionsActive{"smg_http_connections_active",
                                                         MetricType::kUpDownCounter,
                                                         "Requests whose answer is not finished"};
inline constexpr FamilyDescriptor kHttpInflightRequestAge{
    "smg_http_inflight_request_age_count",
    MetricType::kUpDownCounter,
    "Unfinished requests by age in seconds, not cumulative",
    {"gt", "le"}};
inline constexpr FamilyDescriptor kHttpRateLimit{
    "smg_http_rate_limit_total",
    MetricType::kCounter,
    "Verdicts of the admission limits: allowed, rejected",
    {"result"}};
inline constexpr FamilyDescriptor kHttpClientAborts{
    "smg_http_client_aborts_total",
    MetricType::kCounter,
    "Requests that the client gave up, by how far they had come",
    {"phase"}};
inline constexpr FamilyDescriptor kAdmissionQueueDepth{
    "smg_admission_queue_depth", MetricType::kUpDownCounter, "Requests that wait for admission"};
inline constexpr FamilyDescriptor kAdmissionInflight{
    "smg_admission_inflight", MetricType::kUpDownCounter, "Requests that were admitted and run"};
inline constexpr FamilyDescriptor kAdmissionQueueRejected{
    "smg_admission_queue_rejected_total",
    MetricType::kCounter,
    "Requests turned away by the admission queue: full, timeout",
    {"reason"}};

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

// ---- Worker layer. `worker` is the URL, `@rank` included.
inline constexpr FamilyDescriptor kWorkerPoolSize{"smg_worker_pool_size",
                                                  MetricType::kGauge,
                                                  "Workers registered",
                                                  {"worker_type", "connection_mode", "model"}};
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

// ---- The gateway about itself.
inline constexpr FamilyDescriptor kPluginFaults{"smg_plugin_faults_total",
                                                MetricType::kCounter,
                                                "Calls that a plugin answered wrongly",
                                                {"plugin", "kind"}};
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

  Family& router_requests;
  Family& router_request_duration;
  Family& router_request_errors;
  Family& router_upstream_responses;
  Family& router_upstream_send_retries;
  Series router_buffers_released_early;
  Series router_responses_cut;
  Family& routing_key_source;

  Family& worker_pool_size;
  Family& worker_requests_active;
  Family& worker_health;
  Family& worker_selection;
  Family& worker_errors;

  Family& plugin_faults;
  Family& bus_events_dropped;
};

}  // namespace smg
