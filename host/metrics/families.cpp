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
      router_requests(metrics.family(family::kRouterRequests)),
      router_request_duration(metrics.family(family::kRouterRequestDuration)),
      router_request_errors(metrics.family(family::kRouterRequestErrors)),
      router_upstream_responses(metrics.family(family::kRouterUpstreamResponses)),
      router_upstream_send_retries(metrics.family(family::kRouterUpstreamSendRetries)),
      router_buffers_released_early(metrics.family(family::kRouterBuffersReleasedEarly).with({})),
      router_responses_cut(metrics.family(family::kRouterResponsesCut).with({})),
      routing_key_source(metrics.family(family::kRoutingKeySource)),
      worker_pool_size(metrics.family(family::kWorkerPoolSize)),
      worker_requests_active(metrics.family(family::kWorkerRequestsActive)),
      worker_health(metrics.family(family::kWorkerHealth)),
      worker_selection(metrics.family(family::kWorkerSelection)),
      worker_errors(metrics.family(family::kWorkerErrors)),
      plugin_faults(metrics.family(family::kPluginFaults)),
      bus_events_dropped(metrics.family(family::kBusEventsDropped)) {}

}  // namespace smg
