#include "host/fleet/describe_worker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/base/views.hpp"
#include "host/config/duration.hpp"

namespace smg {
namespace {

Ceilings gateway_ceilings(const Overload& overload) {
  if (!overload.protection) return {};
  return {.waiting_requests = static_cast<std::int64_t>(overload.waiting_requests),
          .token_usage = overload.token_usage};
}

Ceilings own_ceilings(const WorkerOverload& overload) {
  Ceilings ceilings;
  if (overload.waiting_requests) {
    ceilings.waiting_requests = static_cast<std::int64_t>(*overload.waiting_requests);
  }
  ceilings.token_usage = overload.token_usage;
  return ceilings;
}

const std::string* find_label(const WorkerDescription& description, std::string_view key) {
  for (const auto& [name, value] : description.labels) {
    if (name == key && !value.empty()) return &value;
  }
  return nullptr;
}

}  // namespace

std::string refusal(const WorkerSpec& spec) {
  const std::string& url = spec.url.text;
  if (const auto waiting = spec.overload.waiting_requests; waiting == 0) {
    return fmt::format(
        "worker {} sets overload.waiting_requests to 0: Must be >= 1 (0 would mark every worker "
        "overloaded)",
        url);
  }
  if (const auto usage = spec.overload.token_usage; usage && !(*usage > 0 && *usage <= 1)) {
    return fmt::format(
        "worker {} sets overload.token_usage to {}: Must be a fraction in (0.0, 1.0]", url, *usage);
  }
  if (spec.worker_type != "regular") {
    return fmt::format("worker {} sets worker_type to {}: this version serves regular workers only",
                       url, spec.worker_type);
  }
  if (spec.runtime == "external") {
    return fmt::format("worker {} sets runtime_type to external: this version serves no providers",
                       url);
  }
  return {};
}

WorkerDescription describe_worker(const WorkerSpec& spec, std::string id, const Config& config) {
  WorkerDescription description;
  description.id = std::move(id);
  description.url = spec.url.text;
  description.base_url = spec.url.text;
  description.scheme = spec.url.scheme;
  description.host = spec.url.host;
  description.base_path = spec.url.base_path;
  description.port = spec.url.port;
  description.priority = spec.priority;
  description.cost = spec.cost;
  description.models = spec.models;
  description.runtime = spec.runtime.empty() ? config.server.backend : spec.runtime;
  description.api_key = spec.api_key;
  for (const auto& [key, value] : spec.labels) description.labels.emplace_back(key, value);
  description.load_monitor_interval_secs = spec.load_monitor_interval_secs;
  description.overload = spec.overload;
  description.health = spec.health;
  description.resilience = spec.resilience;
  description.tls = spec.tls;
  description.carried = spec.carried;
  return description;
}

Ceilings ceilings_of(const WorkerDescription& description, const Overload& common) {
  return resolve_ceilings(own_ceilings(description.overload), gateway_ceilings(common));
}

WorkerRuntime::Settings runtime_settings_of(const WorkerDescription& description,
                                            const Config& config) {
  const auto& own = description.resilience;
  const auto& common = config.circuit_breaker;
  WorkerRuntime::Settings settings;
  settings.breaker.failures = own.cb_failure_threshold.value_or(common.failure_threshold);
  if (own.disable_circuit_breaker.value_or(common.disabled)) {
    settings.breaker.failures = BreakerLimits::kNever;
  }
  settings.breaker.successes = own.cb_success_threshold.value_or(common.success_threshold);
  settings.breaker.open_for =
      seconds_to_ns(own.cb_timeout_secs.value_or(common.timeout_duration_secs));
  settings.liveness = {.stall = seconds_to_ns(config.liveness.stall_secs),
                       .wedge = seconds_to_ns(config.liveness.wedge_secs),
                       .stale = seconds_to_ns(config.liveness.stale_secs)};
  return settings;
}

void add_findings(WorkerDescription& description, const smg_probe_result& found,
                  const Config& config) {
  // A name that was asked for as a label stands for all that the worker lists.
  if (const auto* name = find_label(description, "served_model_name");
      name != nullptr && description.models.empty()) {
    description.models.emplace_back(*name);
  }
  if (description.models.empty()) {
    for (std::uint32_t i = 0; i < found.model_count && i < kMostModels; ++i) {
      description.models.emplace_back(std::string(text(found.models[i])));
    }
  }
  if (description.runtime.empty()) description.runtime = text(found.runtime);
  for (std::uint32_t i = 0; i < found.label_count; ++i) {
    const std::string key(text(found.labels[i].key));
    const auto same_key = [&](const auto& label) { return label.first == key; };
    if (std::none_of(description.labels.begin(), description.labels.end(), same_key)) {
      description.labels.emplace_back(key, text(found.labels[i].value));
    }
  }
  for (const char* key : {"served_model_name", "model_id", "model_path"}) {
    const auto* name = find_label(description, key);
    if (name != nullptr && description.models.empty()) description.models.emplace_back(*name);
  }
  // Filed under a name that only requests without a model name ask for.
  if (description.models.empty()) description.models.emplace_back("unknown");
  for (auto& card : description.models) {
    for (const auto& [alias, model] : config.models.aliases) {
      if (model == card.id) card.aliases.push_back(alias);
    }
  }
}

}  // namespace smg
