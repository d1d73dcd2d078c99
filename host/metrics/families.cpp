#include "host/metrics/families.hpp"

namespace smg {

Families::Families(Metrics& metrics)
    : http_requests(metrics.family(family::kHttpRequests)),
      http_request_duration(metrics.family(family::kHttpRequestDuration)),
      http_responses(metrics.family(family::kHttpResponses)),
      http_connections_active(metrics.family(family::kHttpConnectionsActive).with({})),
      http_inflight_request_age(metrics.family(family::kHttpInflightRequestAge)),
      http_rate_limit(metrics.family(family::kHttpRateLimit)),
      http_client_aborts(metrics.family(family::kHttpClientAborts)),
      admission_queue_depth(metrics.family(family::kAdmissionQueueDepth).with({})),
      admission_inflight(metrics.family(family::kAdmissionInflight).with({})),
      admission_queue_rejected(metrics.family(family::kAdmissionQueueRejected)),
      http_connections_open(metrics.family(family::kHttpConnectionsOpen).with({})),
      http_streams_active(metrics.family(family::kHttpStreamsActive).with({})),
      http_limit_rejections(metrics.family(family::kHttpLimitRejections)),
      http_tls_handshakes(metrics.family(family::kHttpTlsHandshakes)),
      tls_certificate_expiry(metrics.family(family::kTlsCertificateExpiry).with({})),
      tls_certificate_reloads(metrics.family(family::kTlsCertificateReloads)),
      access_log_dropped(metrics.family(family::kAccessLogDropped).with({})),
      auth_rejections(metrics.family(family::kAuthRejections)),
      jwks_refreshes(metrics.family(family::kJwksRefreshes)),
      scheduler_admit(metrics.family(family::kSchedulerAdmit)),
      scheduler_queue_wait(metrics.family(family::kSchedulerQueueWait)),
      scheduler_preemption(metrics.family(family::kSchedulerPreemption)),
      scheduler_clamp(metrics.family(family::kSchedulerClamp)),
      scheduler_unknown_priority(metrics.family(family::kSchedulerUnknownPriority)),
      scheduler_starvation(metrics.family(family::kSchedulerStarvation)),
      scheduler_inflight(metrics.family(family::kSchedulerInflight)),
      scheduler_queue_depth(metrics.family(family::kSchedulerQueueDepth)),
      scheduler_queue_limit(metrics.family(family::kSchedulerQueueLimit)),
      scheduler_utilization(metrics.family(family::kSchedulerUtilization)),
      scheduler_pressure(metrics.family(family::kSchedulerPressure)),
      router_requests(metrics.family(family::kRouterRequests)),
      router_request_duration(metrics.family(family::kRouterRequestDuration)),
      router_request_errors(metrics.family(family::kRouterRequestErrors)),
      router_upstream_responses(metrics.family(family::kRouterUpstreamResponses)),
      router_upstream_send_retries(metrics.family(family::kRouterUpstreamSendRetries)),
      router_buffers_released_early(metrics.family(family::kRouterBuffersReleasedEarly).with({})),
      router_responses_cut(metrics.family(family::kRouterResponsesCut).with({})),
      routing_key_source(metrics.family(family::kRoutingKeySource)),
      manual_policy_branch(metrics.family(family::kManualPolicyBranch)),
      manual_policy_cache_entries(metrics.family(family::kManualPolicyCacheEntries)),
      worker_pool_size(metrics.family(family::kWorkerPoolSize)),
      worker_connections_active(metrics.family(family::kWorkerConnectionsActive)),
      worker_routing_keys_active(metrics.family(family::kWorkerRoutingKeysActive)),
      worker_requests_active(metrics.family(family::kWorkerRequestsActive)),
      worker_health(metrics.family(family::kWorkerHealth)),
      worker_selection(metrics.family(family::kWorkerSelection)),
      worker_errors(metrics.family(family::kWorkerErrors)),
      worker_health_checks(metrics.family(family::kWorkerHealthChecks)),
      worker_retries(metrics.family(family::kWorkerRetries)),
      worker_retries_exhausted(metrics.family(family::kWorkerRetriesExhausted)),
      worker_retry_backoff(metrics.family(family::kWorkerRetryBackoff)),
      worker_cb_state(metrics.family(family::kWorkerCbState)),
      worker_cb_transitions(metrics.family(family::kWorkerCbTransitions)),
      worker_cb_outcomes(metrics.family(family::kWorkerCbOutcomes)),
      worker_cb_failures(metrics.family(family::kWorkerCbFailures)),
      worker_cb_successes(metrics.family(family::kWorkerCbSuccesses)),
      workers_overloaded(metrics.family(family::kWorkersOverloaded)),
      worker_overloaded(metrics.family(family::kWorkerOverloaded)),
      overload_shed(metrics.family(family::kOverloadShed)),
      overload_fallback(metrics.family(family::kOverloadFallback)),
      liveness_fallback(metrics.family(family::kLivenessFallback)),
      worker_stalled(metrics.family(family::kWorkerStalled)),
      worker_stall_transitions(metrics.family(family::kWorkerStallTransitions)),
      load_reports(metrics.family(family::kLoadReports)),
      load_report_age(metrics.family(family::kLoadReportAge)),
      engine_running(metrics.family(family::kEngineRunning)),
      engine_waiting(metrics.family(family::kEngineWaiting)),
      engine_token_usage(metrics.family(family::kEngineTokenUsage)),
      engine_throughput(metrics.family(family::kEngineThroughput)),
      engine_cache_hit_rate(metrics.family(family::kEngineCacheHitRate)),
      engine_pd_transfer_latency(metrics.family(family::kEnginePdTransferLatency)),
      engine_pd_transfer_speed(metrics.family(family::kEnginePdTransferSpeed)),
      engine_pd_prefill_queue(metrics.family(family::kEnginePdPrefillQueue)),
      engine_pd_decode_queue(metrics.family(family::kEnginePdDecodeQueue)),
      pd_admission_waits(metrics.family(family::kPdAdmissionWaits).with({})),
      pd_admission_sheds(metrics.family(family::kPdAdmissionSheds).with({})),
      plugin_faults(metrics.family(family::kPluginFaults)),
      plugin_generation(metrics.family(family::kPluginGeneration)),
      plugin_reload_steps(metrics.family(family::kPluginReloadSteps)),
      plugin_reload_duration(metrics.family(family::kPluginReloadDuration)),
      config_generation(metrics.family(family::kConfigGeneration).with({})),
      config_reloads(metrics.family(family::kConfigReloads)),
      bus_events_dropped(metrics.family(family::kBusEventsDropped)) {
  // Alerts on rates need a series to be there before it counts.
  for (const std::string_view stage : {"selection", "dispatch", "pd_admission"}) {
    overload_shed.with({stage});
  }
  for (const std::string_view endpoint :
       {"chat", "completions", "generate", "messages", "responses", "rerank", "other"}) {
    worker_retries.with({"regular", endpoint});
    worker_retries_exhausted.with({"regular", endpoint});
  }
  for (const std::string_view result : {"applied", "unchanged", "failed"}) {
    config_reloads.with({result});
  }
  for (const std::string_view reason : {"full", "timeout"}) {
    admission_queue_rejected.with({reason});
  }
  for (const std::string_view limit :
       {"connections", "streams", "descriptors", "header_timeout", "body_timeout", "write_timeout",
        "stream_idle_timeout", "draining"}) {
    http_limit_rejections.with({limit});
  }
  for (const std::string_view stage : {"selection", "dispatch"}) {
    overload_fallback.with({stage});
    liveness_fallback.with({stage});
  }
}

}  // namespace smg
