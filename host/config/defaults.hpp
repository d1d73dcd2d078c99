// Every default setting, in one table. Units are in the names; sizes are bytes.
//
// This is the one file of the host that may name a plugin.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#ifndef SMG_DEFAULT_PLUGIN_DIR
#define SMG_DEFAULT_PLUGIN_DIR "/usr/lib/smg/plugins"
#endif

namespace smg::defaults {

inline constexpr std::string_view kAnyAddress = "0.0.0.0";

// [server]
inline constexpr std::uint16_t kPort = 30000;
inline constexpr std::uint64_t kMaxPayloadSize = 536'870'912;
inline constexpr std::uint64_t kRequestTimeoutSecs = 1800;
inline constexpr std::uint64_t kShutdownGracePeriodSecs = 180;
inline constexpr std::uint64_t kStreamRequestBodiesOver = 0;
inline constexpr std::uint64_t kStreamBodyStallTimeoutSecs = 300;
inline constexpr std::array<std::string_view, 4> kRequestIdHeaders = {
    "x-request-id", "x-correlation-id", "x-trace-id", "request-id"};
inline constexpr std::uint32_t kJobQueueCapacity = 1000;
inline constexpr std::uint32_t kJobQueueConcurrency = 200;
inline constexpr std::uint64_t kWorkerStartupTimeoutSecs = 1800;
inline constexpr std::uint64_t kWorkerStartupDelaySecs = 0;
inline constexpr std::uint64_t kWorkerStartupCheckIntervalSecs = 30;
inline constexpr bool kWatchConfig = true;

// [limits]
inline constexpr std::uint64_t kHeaderTimeoutSecs = 30;
inline constexpr std::uint64_t kBodyTimeoutSecs = 60;
inline constexpr std::uint64_t kIdleTimeoutSecs = 75;
inline constexpr std::uint64_t kWriteTimeoutSecs = 60;
inline constexpr std::uint64_t kStreamIdleTimeoutSecs = 0;
inline constexpr std::uint32_t kMaxConnections = 0;
inline constexpr std::uint32_t kMaxStreams = 0;

// [admission]
inline constexpr std::int64_t kMaxConcurrentRequests = -1;
inline constexpr std::uint32_t kQueueSize = 100;
inline constexpr std::uint64_t kQueueTimeoutSecs = 60;

// [priority_scheduler]
inline constexpr std::array<std::string_view, 4> kPriorityClasses = {"bulk", "default",
                                                                     "interactive", "system"};
inline constexpr std::string_view kDefaultMaxClass = "default";
inline constexpr std::uint32_t kTenantMetricTopN = 32;

// [auth]
inline constexpr std::string_view kTenantHeader = "x-smg-tenant-id";
inline constexpr std::string_view kJwtRoleClaim = "roles";

// [plugins]
inline constexpr std::string_view kPluginPath = SMG_DEFAULT_PLUGIN_DIR;
inline constexpr bool kPluginWatch = true;
inline constexpr std::uint32_t kPluginMaxFaults = 100;
inline constexpr std::uint64_t kPluginFaultWindowSecs = 60;

// [policy]
inline constexpr std::string_view kPolicy = "cache_aware";

// [routing_key_override]
inline constexpr std::string_view kRoutingKeyHeader = "x-smg-routing-key";
inline constexpr std::array<std::string_view, 4> kAssignmentModes = {"random", "min_load",
                                                                     "min_group", "delegate"};
inline constexpr std::string_view kAssignmentMode = "delegate";
inline constexpr std::uint64_t kMaxIdleSecs = 14'400;
inline constexpr std::uint64_t kEvictionIntervalSecs = 120;

// [overload]
inline constexpr bool kOverloadProtection = true;
inline constexpr std::uint64_t kOverloadWaitingRequests = 8;
inline constexpr double kOverloadTokenUsage = 0.8;

// [liveness]
inline constexpr std::uint64_t kStallSecs = 2;
inline constexpr std::uint64_t kWedgeSecs = 3;
inline constexpr std::uint64_t kStaleSecs = 15;

// [load_monitor]
inline constexpr std::uint64_t kLoadMonitorIntervalSecs = 10;

// [health_check]
inline constexpr std::uint32_t kHealthFailureThreshold = 3;
inline constexpr std::uint32_t kHealthSuccessThreshold = 2;
inline constexpr std::uint64_t kHealthTimeoutSecs = 5;
inline constexpr std::uint64_t kHealthCheckIntervalSecs = 60;
inline constexpr std::string_view kHealthEndpoint = "/health";
inline constexpr std::uint64_t kDrainSettleSecs = 5;

// [circuit_breaker]
inline constexpr std::uint32_t kBreakerFailureThreshold = 10;
inline constexpr std::uint32_t kBreakerSuccessThreshold = 3;
inline constexpr std::uint64_t kBreakerTimeoutDurationSecs = 60;
inline constexpr std::uint64_t kBreakerWindowDurationSecs = 120;

// [retry]
inline constexpr std::uint32_t kMaxRetries = 5;
inline constexpr std::uint64_t kInitialBackoffMs = 50;
inline constexpr std::uint64_t kMaxBackoffMs = 30'000;
inline constexpr double kBackoffMultiplier = 1.5;
inline constexpr double kJitterFactor = 0.2;

// [pd]
inline constexpr std::uint64_t kAdmissionWaitSecs = 30;

// [metrics]
inline constexpr std::uint16_t kMetricsPort = 29000;
inline constexpr std::array<double, 29> kDurationBuckets = {
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,    2.5,  5,    10,   15,   30,  45,
    60,    90,    120,  180,   240,  300, 480,  900, 1200, 1800, 2700, 3600, 5400, 7200};

// [log]
inline constexpr std::string_view kLogLevel = "info";

// [[worker]]
inline constexpr std::uint32_t kWorkerPriority = 50;
inline constexpr double kWorkerCost = 1.0;

}  // namespace smg::defaults
