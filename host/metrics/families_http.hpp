// Metric families of what stands before routing: the listener, admission, authentication, the
// priority scheduler. Part of families.hpp, which tells what they are for.
#pragma once

#include "host/metrics/metrics.hpp"

namespace smg::family {

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

inline constexpr FamilyDescriptor kHttpConnectionsOpen{
    "smg_http_connections_open", MetricType::kUpDownCounter, "Connections of clients"};
inline constexpr FamilyDescriptor kHttpStreamsActive{"smg_http_streams_active",
                                                     MetricType::kUpDownCounter,
                                                     "Streamed answers that are not finished"};
inline constexpr FamilyDescriptor kHttpLimitRejections{
    "smg_http_limit_rejections_total",
    MetricType::kCounter,
    "Requests and connections that a limit ended: connections, streams, descriptors, "
    "header_timeout, body_timeout, write_timeout, stream_idle_timeout, draining",
    {"limit"}};
inline constexpr FamilyDescriptor kHttpTlsHandshakes{"smg_http_tls_handshakes_total",
                                                     MetricType::kCounter,
                                                     "TLS handshakes of clients: success, failure",
                                                     {"result"}};
inline constexpr FamilyDescriptor kTlsCertificateExpiry{
    "smg_tls_certificate_expiry_timestamp_seconds", MetricType::kGauge,
    "When the listener's certificate expires, Unix time; 0 without TLS"};
inline constexpr FamilyDescriptor kTlsCertificateReloads{
    "smg_tls_certificate_reloads_total",
    MetricType::kCounter,
    "New certificate files of the listener: applied, failed",
    {"result"}};
inline constexpr FamilyDescriptor kAccessLogDropped{
    "smg_access_log_dropped_total", MetricType::kCounter,
    "Lines of the access log that could not be written in time"};

// ---- Who asks.
inline constexpr FamilyDescriptor kAuthRejections{
    "smg_auth_rejections_total",
    MetricType::kCounter,
    "Requests without sufficient credentials, by class of route: serving, admin",
    {"class", "status_code"}};
inline constexpr FamilyDescriptor kJwksRefreshes{"smg_jwks_refreshes_total",
                                                 MetricType::kCounter,
                                                 "Look-ups of the keys that sign tokens: success, "
                                                 "failure",
                                                 {"result"}};

// ---- Priority scheduler. `class`: bulk, default, interactive, system.
inline constexpr FamilyDescriptor kSchedulerAdmit{
    "smg_scheduler_admit_total",
    MetricType::kCounter,
    "Ends of admission: admitted, rejected_queue_full, rejected_queue_timeout, preempted, "
    "client_cancelled",
    {"class", "outcome"}};
inline constexpr FamilyDescriptor kSchedulerQueueWait{"smg_scheduler_queue_wait_seconds",
                                                      MetricType::kHistogram,
                                                      "Time in the queue of those admitted",
                                                      {"class"}};
inline constexpr FamilyDescriptor kSchedulerPreemption{"smg_scheduler_preemption_total",
                                                       MetricType::kCounter,
                                                       "Requests that made room for others",
                                                       {"victim_class", "by_class"}};
inline constexpr FamilyDescriptor kSchedulerClamp{
    "smg_scheduler_clamp_total",
    MetricType::kCounter,
    "Requests above the highest class of their tenant",
    {"tenant", "requested_class", "effective_class"}};
inline constexpr FamilyDescriptor kSchedulerUnknownPriority{
    "smg_scheduler_unknown_priority_value_total",
    MetricType::kCounter,
    "Requests with an x-smg-priority that names no class",
    {"tenant"}};
inline constexpr FamilyDescriptor kSchedulerStarvation{
    "smg_scheduler_starvation_promotion_total",
    MetricType::kCounter,
    "Requests that were let through because they had waited too long",
    {"class"}};
inline constexpr FamilyDescriptor kSchedulerInflight{
    "smg_scheduler_inflight", MetricType::kGauge, "Requests that were admitted and run", {"class"}};
inline constexpr FamilyDescriptor kSchedulerQueueDepth{
    "smg_scheduler_queue_depth", MetricType::kGauge, "Requests that wait", {"class"}};
inline constexpr FamilyDescriptor kSchedulerQueueLimit{
    "smg_scheduler_queue_size_limit", MetricType::kGauge, "Requests that may wait", {"class"}};
inline constexpr FamilyDescriptor kSchedulerUtilization{
    "smg_scheduler_utilization", MetricType::kGauge, "Share of the capacity in use"};
inline constexpr FamilyDescriptor kSchedulerPressure{"smg_scheduler_class_capacity_pressure",
                                                     MetricType::kGauge,
                                                     "How near a class is to its bounds, at most 1",
                                                     {"class"}};

}  // namespace smg::family
