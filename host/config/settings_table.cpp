// The rows.
#include <utility>
#include <vector>

#include "host/config/settings_rows.hpp"

namespace smg {
namespace {

using namespace rows;

const std::vector<Setting>& table() {
  static const std::vector<Setting> kRows = [] {
    std::vector<Setting> t;
    const auto add = [&](Setting setting) { t.push_back(std::move(setting)); };
    add(checked(row("server", "host", "host", SMG_AT(server.host), "address to listen on"),
                check_address));
    add(positive(row("server", "port", "port", SMG_AT(server.port), "port to listen on")));
    add(positive(row("server", "health_check_port", "health-check-port",
                     SMG_AT(server.health_check_port),
                     "a second port for health checks alone; not served by this version")));
    add(positive(row("server", "max_payload_size", "max-payload-size",
                     SMG_AT(server.max_payload_size), "largest request body, bytes")));
    add(positive(row("server", "request_timeout_secs", "request-timeout-secs",
                     SMG_AT(server.request_timeout_secs),
                     "longest exchange with a worker, its stream included")));
    add(row("server", "shutdown_grace_period_secs", "shutdown-grace-period-secs",
            SMG_AT(server.shutdown_grace_period_secs),
            "how long running answers may go on after a stop"));
    add(row("server", "stream_request_bodies_over", "stream-request-bodies-over",
            SMG_AT(server.stream_request_bodies_over),
            "pass bodies of more bytes on unread; 0: never"));
    add(row("server", "stream_body_stall_timeout_secs", "stream-body-stall-timeout-secs",
            SMG_AT(server.stream_body_stall_timeout_secs),
            "longest pause of a client in such a body; 0: any"));
    add(row("server", "cors_allowed_origins", "cors-allowed-origins",
            SMG_AT(server.cors_allowed_origins), "origins that browsers may call from; none: any"));
    add(checked(
        row("server", "request_id_headers", "request-id-headers", SMG_AT(server.request_id_headers),
            "headers that may bring a request id, in order"),
        check_header_names));
    add(ranged(row("server", "job_queue_capacity", "job-queue-capacity",
                   SMG_AT(server.job_queue_capacity), "registration jobs that may wait"),
               1, 1'000'000, ""));
    add(ranged(row("server", "job_queue_concurrency", "job-queue-concurrency",
                   SMG_AT(server.job_queue_concurrency), "registration jobs that run at once"),
               1, 100'000, ""));
    add(ranged(row("server", "runtime_worker_threads", "runtime-worker-threads",
                   SMG_AT(server.runtime_worker_threads), "event loops; unset: one per CPU"),
               1, 1024, ""));
    add(positive(row("server", "worker_startup_timeout_secs", "worker-startup-timeout-secs",
                     SMG_AT(server.worker_startup_timeout_secs),
                     "how long a worker may take to come up")));
    add(row("server", "worker_startup_delay_secs", "worker-startup-delay",
            SMG_AT(server.worker_startup_delay_secs), "wait before the first look at a worker"));
    add(positive(
        row("server", "worker_startup_check_interval_secs", "worker-startup-check-interval",
            SMG_AT(server.worker_startup_check_interval_secs), "pause between looks at a worker")));
    add(one_of(alias(row("server", "backend", "backend", SMG_AT(server.backend),
                         "what the workers run; unset: ask them"),
                     "runtime"),
               {"sglang", "vllm", "trtllm", "tokenspeed", "openai", "anthropic", "gemini"}));
    add(off(row("server", "watch_config", "watch-config", SMG_AT(server.watch_config),
                "reload the configuration when its file changes"),
            "no-watch-config"));
    add(row("server", "enable_igw", "enable-igw", SMG_AT(server.enable_igw),
            "route several models"));
    add(row("server", "dp_aware", "dp-aware", SMG_AT(server.dp_aware),
            "one worker per data-parallel rank"));
    add(row("server", "dp_minimum_tokens_scheduler", "dp-minimum-tokens-scheduler",
            SMG_AT(server.dp_minimum_tokens_scheduler), "choose ranks by fewest tokens"));
    add(row("server", "reuse_port", "reuse-port", SMG_AT(server.reuse_port),
            "let another process listen on the same ports, for a hand-over"));
    add(checked(row("plugins", "paths", "plugin-paths", SMG_AT(plugins.paths),
                    "directories of plugin libraries; $ORIGIN is that of the program"),
                check_not_empty));
    add(row("plugins", "run_dir", "plugin-run-dir", SMG_AT(plugins.run_dir),
            "where private copies of them are kept"));
    add(row("plugins", "watch", "", SMG_AT(plugins.watch), "notice changed libraries"));
    add(ranged(row("plugins", "max_faults", "plugin-max-faults", SMG_AT(plugins.max_faults),
                   "faults within the window that fence a plugin; 0: never"),
               0, 100'000, ""));
    add(ranged(row("plugins", "fault_window_secs", "plugin-fault-window-secs",
                   SMG_AT(plugins.fault_window_secs), "the window in which faults are counted"),
               1, 86'400, ""));
    add(checked(row("policy", "name", "policy", SMG_AT(policy.name), "routing policy"),
                check_not_empty));
    add(checked(row("policy", "models", "", SMG_AT(policy.models),
                    "another policy for a model, by its name"),
                check_not_empty));
    add(alias(row("routing_key_override", "enabled", "routing-key-override",
                  SMG_AT(routing_key_override.enabled),
                  "keep requests with the same key at one worker, whatever the policy"),
              "sticky-sessions"));
    add(checked(
        row("routing_key_override", "headers", "routing-key-headers",
            SMG_AT(routing_key_override.headers), "headers that may bring a routing key, in order"),
        check_header_names));
    add(shared(one_of(row("routing_key_override", "assignment_mode", "assignment-mode",
                          SMG_AT(routing_key_override.assignment_mode),
                          "who chooses for a key that has no worker: delegate is the policy"),
                      {defaults::kAssignmentModes.begin(), defaults::kAssignmentModes.end()})));
    add(shared(alias(ranged(row("routing_key_override", "max_idle_secs", "max-idle-secs",
                                SMG_AT(routing_key_override.max_idle_secs),
                                "how long a key without requests is remembered; 0: for ever"),
                            0, 4e9, ""),
                     "sticky-key-idle-secs")));
    add(shared(ranged(row("routing_key_override", "eviction_interval_secs", "eviction-interval",
                          SMG_AT(routing_key_override.eviction_interval_secs),
                          "pause between looks for such keys"),
                      1, 4e9, "Must be > 0")));
    add(off(row("overload", "protection", "worker-overload-protection", SMG_AT(overload.protection),
                "take overloaded workers out of routing"),
            "disable-worker-overload-protection"));
    add(ranged(row("overload", "waiting_requests", "worker-overload-waiting-requests",
                   SMG_AT(overload.waiting_requests),
                   "waiting requests from which a worker is overloaded"),
               1, 0, "Must be >= 1 (0 would mark every worker overloaded)"));
    Setting usage = ranged(
        row("overload", "token_usage", "worker-overload-token-usage", SMG_AT(overload.token_usage),
            "share of the KV cache from which a worker is overloaded"),
        0, 1, "Must be a fraction in (0.0, 1.0]");
    usage.above_minimum = true;
    add(std::move(usage));
    add(row("overload", "shed", "worker-overload-shed", SMG_AT(overload.shed),
            "refuse with 503 when all workers are overloaded, instead of steering"));
    add(row("liveness", "stall_secs", "worker-stall-secs", SMG_AT(liveness.stall_secs),
            "silence after a transport failure that makes a worker unreachable"));
    add(row("liveness", "wedge_secs", "worker-wedge-secs", SMG_AT(liveness.wedge_secs),
            "time without a token that makes a busy worker wedged; 0: off"));
    add(row("liveness", "stale_secs", "worker-stale-secs", SMG_AT(liveness.stale_secs),
            "silence of a worker that pushes reports; 0: off"));
    add(positive(row("load_monitor", "interval_secs", "load-monitor-interval",
                     SMG_AT(load_monitor.interval_secs), "pause between load polls")));
    add(row("load_monitor", "disabled", "disable-load-monitoring", SMG_AT(load_monitor.disabled),
            "poll only when something needs the reports"));
    add(row("load_monitor", "engine_metrics", "engine-metrics", SMG_AT(load_monitor.engine_metrics),
            "export smg_engine_* then as well"));
    add(row("health_check", "failure_threshold", "health-failure-threshold",
            SMG_AT(health_check.failure_threshold), "failed probes until a worker is not ready"));
    add(row("health_check", "success_threshold", "health-success-threshold",
            SMG_AT(health_check.success_threshold), "passed probes until it is ready again"));
    add(row("health_check", "timeout_secs", "health-check-timeout-secs",
            SMG_AT(health_check.timeout_secs), "longest probe"));
    add(row("health_check", "check_interval_secs", "health-check-interval-secs",
            SMG_AT(health_check.check_interval_secs), "pause between probes"));
    add(checked(row("health_check", "endpoint", "health-check-endpoint",
                    SMG_AT(health_check.endpoint), "path of the probe"),
                check_path));
    add(row("health_check", "disable_health_check", "disable-health-check",
            SMG_AT(health_check.disable_health_check), "never probe"));
    add(alias(
        row("health_check", "remove_unhealthy_workers", "remove-unhealthy-workers",
            SMG_AT(health_check.remove_unhealthy_workers), "forget workers that failed for good"),
        "worker-auto-recovery"));
    add(row("health_check", "drain_settle_secs", "drain-settle-secs",
            SMG_AT(health_check.drain_settle_secs), "wait between draining and removal; 0: none"));
    constexpr std::string_view kNoBreaker =
        "Must be >= 1 (set to u32::MAX to effectively disable CB)";
    add(ranged(
        row("circuit_breaker", "failure_threshold", "cb-failure-threshold",
            SMG_AT(circuit_breaker.failure_threshold), "failures in a row that open the breaker"),
        1, 0, kNoBreaker));
    add(ranged(row("circuit_breaker", "success_threshold", "cb-success-threshold",
                   SMG_AT(circuit_breaker.success_threshold), "successes in a row that close it"),
               1, 0, "Must be >= 1"));
    add(positive(row("circuit_breaker", "timeout_duration_secs", "cb-timeout-duration-secs",
                     SMG_AT(circuit_breaker.timeout_duration_secs),
                     "time until an open breaker lets a trial through")));
    add(positive(row("circuit_breaker", "window_duration_secs", "cb-window-duration-secs",
                     SMG_AT(circuit_breaker.window_duration_secs),
                     "accepted for compatibility, not used")));
    add(row("circuit_breaker", "disabled", "disable-circuit-breaker",
            SMG_AT(circuit_breaker.disabled), "no breaker"));
    add(ranged(row("retry", "max_retries", "retry-max-retries", SMG_AT(retry.max_retries),
                   "attempts per request, the first one included"),
               1, 0, "Must be >= 1 (set to 1 to effectively disable retries)"));
    add(positive(row("retry", "initial_backoff_ms", "retry-initial-backoff-ms",
                     SMG_AT(retry.initial_backoff_ms), "pause before the second attempt")));
    add(row("retry", "max_backoff_ms", "retry-max-backoff-ms", SMG_AT(retry.max_backoff_ms),
            "longest pause"));
    add(ranged(row("retry", "backoff_multiplier", "retry-backoff-multiplier",
                   SMG_AT(retry.backoff_multiplier), "growth of the pause"),
               1, 0, "Must be >= 1.0"));
    add(ranged(row("retry", "jitter_factor", "retry-jitter-factor", SMG_AT(retry.jitter_factor),
                   "random share of the pause, up and down"),
               0, 1, ""));
    add(row("retry", "disabled", "disable-retries", SMG_AT(retry.disabled), "one attempt only"));
    add(row("pd", "admission_wait_secs", "pd-admission-wait-secs", SMG_AT(pd.admission_wait_secs),
            "longest wait for room at a decode worker; 0: none"));
    add(row("metrics", "host", "prometheus-host", SMG_AT(metrics.host),
            "address of the metrics listener"));
    add(positive(row("metrics", "port", "prometheus-port", SMG_AT(metrics.port),
                     "port of the metrics listener")));
    add(checked(row("metrics", "duration_buckets", "prometheus-duration-buckets",
                    SMG_AT(metrics.duration_buckets),
                    "upper bounds of duration histograms, seconds, ascending"),
                check_ascending));
    add(one_of(row("log", "level", "log-level", SMG_AT(log.level),
                   "least important lines that are written"),
               {"debug", "info", "warn", "error"}));
    add(row("log", "json", "log-json", SMG_AT(log.json), "lines as JSON objects"));
    add(row("log", "dir", "log-dir", SMG_AT(log.dir), "a directory for log files besides"));
    add(off(row("log", "access", "access-log", SMG_AT(log.access), "a line for every request"),
            "disable-access-log"));
    add(checked(row("models", "aliases", "model-alias", SMG_AT(models.aliases),
                    "other names of models: alias=canonical"),
                check_not_empty));
    add_limit_rows(t);
    add_admission_rows(t);
    add_security_rows(t);
    return t;
  }();
  return kRows;
}

}  // namespace

std::span<const Setting> all_settings() {
  return table();
}

}  // namespace smg
