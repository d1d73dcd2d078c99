#include "host/config/settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <type_traits>
#include <vector>

namespace smg {
namespace {

template <class T>
struct Unwrap {
  using type = T;
};
template <class T>
struct Unwrap<std::optional<T>> {
  using type = T;
};

std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

template <class T>
std::string show(const T& value) {
  std::ostringstream out;
  if constexpr (std::is_same_v<T, bool>) {
    out << (value ? "true" : "false");
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!value.empty()) out << quoted(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    out << +value;
  } else if constexpr (std::is_same_v<T, StringMap>) {
    for (const auto& [key, item] : value)
      out << (out.tellp() > 0 ? ", " : "") << key << " = " << quoted(item);
  } else {
    for (const auto& item : value) {
      if (out.tellp() > 0) out << ", ";
      if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        out << quoted(item);
      } else {
        out << item;
      }
    }
  }
  return out.str();
}

// A row; its kind and widest range follow from the member that `at` gives.
template <class At>
Setting row(std::string_view section, std::string_view key, std::string_view flag, At at,
            std::string_view help) {
  using Member = std::remove_reference_t<decltype(at(std::declval<Config&>()))>;
  using T = typename Unwrap<Member>::type;
  Setting setting;
  setting.section = section;
  setting.key = key;
  setting.flag = flag;
  setting.help = help;
  setting.shown = [at](const Config& config) {
    const Member& member = at(const_cast<Config&>(config));
    if constexpr (std::is_same_v<Member, T>) {
      return show(member);
    } else {
      return member ? show(*member) : std::string();
    }
  };
  if constexpr (std::is_same_v<T, bool>) {
    setting.kind = SettingKind::kBool;
    setting.set = [at](Config& config, const OptionValue& value) {
      at(config) = std::get<bool>(value);
    };
  } else if constexpr (std::is_integral_v<T>) {
    setting.kind = SettingKind::kInteger;
    setting.maximum = std::min(static_cast<double>(std::numeric_limits<T>::max()), 9.2e18);
    setting.set = [at](Config& config, const OptionValue& value) {
      at(config) = static_cast<T>(std::get<std::int64_t>(value));
    };
  } else if constexpr (std::is_same_v<T, double>) {
    setting.kind = SettingKind::kNumber;
    setting.maximum = std::numeric_limits<double>::max();
    setting.set = [at](Config& config, const OptionValue& value) {
      at(config) = std::get<double>(value);
    };
  } else {
    setting.kind = std::is_same_v<T, std::string>                ? SettingKind::kText
                   : std::is_same_v<T, std::vector<std::string>> ? SettingKind::kTexts
                   : std::is_same_v<T, std::vector<double>>      ? SettingKind::kNumbers
                                                                 : SettingKind::kMap;
    setting.set = [at](Config& config, const OptionValue& value) {
      at(config) = std::get<T>(value);
    };
  }
  return setting;
}

Setting ranged(Setting setting, double minimum, double maximum, std::string_view reason) {
  setting.minimum = minimum;
  if (maximum > minimum) setting.maximum = maximum;
  setting.reason = reason;
  return setting;
}
Setting positive(Setting setting) {
  return ranged(std::move(setting), 1, 0, "Must be > 0");
}
Setting alias(Setting setting, std::string_view name) {
  setting.alias = name;
  return setting;
}
Setting off(Setting setting, std::string_view flag) {
  setting.off_flag = flag;
  return setting;
}
Setting one_of(Setting setting, std::string_view choices) {
  setting.choices = choices;
  return setting;
}

#define SMG_AT(path)        \
  [](Config & c) -> auto& { \
    return c.path;          \
  }

const std::vector<Setting>& table() {
  static const std::vector<Setting> kRows = [] {
    std::vector<Setting> t;
    const auto add = [&](Setting setting) { t.push_back(std::move(setting)); };
    add(row("server", "host", "host", SMG_AT(server.host), "address to listen on"));
    add(positive(row("server", "port", "port", SMG_AT(server.port), "port to listen on")));
    add(positive(row("server", "health_check_port", "health-check-port",
                     SMG_AT(server.health_check_port), "a second port for health checks alone")));
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
    add(row("server", "request_id_headers", "request-id-headers", SMG_AT(server.request_id_headers),
            "headers that may bring a request id, in order"));
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
               "sglang vllm trtllm tokenspeed openai anthropic gemini"));
    add(row("server", "enable_igw", "enable-igw", SMG_AT(server.enable_igw),
            "route several models"));
    add(row("server", "dp_aware", "dp-aware", SMG_AT(server.dp_aware),
            "one worker per data-parallel rank"));
    add(row("server", "dp_minimum_tokens_scheduler", "dp-minimum-tokens-scheduler",
            SMG_AT(server.dp_minimum_tokens_scheduler), "choose ranks by fewest tokens"));
    add(row("plugins", "paths", "plugin-paths", SMG_AT(plugins.paths),
            "directories of plugin libraries; $ORIGIN is that of the program"));
    add(row("plugins", "run_dir", "plugin-run-dir", SMG_AT(plugins.run_dir),
            "where private copies of them are kept"));
    add(row("plugins", "watch", "", SMG_AT(plugins.watch), "notice changed libraries"));
    add(row("policy", "name", "policy", SMG_AT(policy.name), "routing policy"));
    add(row("policy", "models", "", SMG_AT(policy.models),
            "another policy for a model: models.\"m\" = \"random\""));
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
    add(row("health_check", "endpoint", "health-check-endpoint", SMG_AT(health_check.endpoint),
            "path of the probe"));
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
    add(row("metrics", "duration_buckets", "prometheus-duration-buckets",
            SMG_AT(metrics.duration_buckets),
            "upper bounds of duration histograms, seconds, ascending"));
    add(one_of(row("log", "level", "log-level", SMG_AT(log.level),
                   "least important lines that are written"),
               "debug info warn error"));
    add(row("log", "json", "log-json", SMG_AT(log.json), "lines as JSON objects"));
    add(row("log", "dir", "log-dir", SMG_AT(log.dir), "a directory for log files besides"));
    add(row("models", "aliases", "model-alias", SMG_AT(models.aliases),
            "other names of models: alias=canonical"));
    return t;
  }();
  return kRows;
}

#undef SMG_AT

std::string number_text(double number) {
  std::ostringstream out;
  out.precision(15);
  out << number;
  return out.str();
}

bool check_number(const Setting& setting, double number, std::string& reason) {
  const bool low =
      setting.above_minimum ? !(number > setting.minimum) : !(number >= setting.minimum);
  if (!low && number <= setting.maximum) return true;
  if (!setting.reason.empty()) {
    reason = setting.reason;
    if (low) return false;
  }
  if (setting.maximum >= 9e18 ||
      (setting.kind == SettingKind::kNumber && setting.maximum > 1e300)) {
    if (reason.empty()) reason = "must be at least " + number_text(setting.minimum);
  } else {
    reason = "must be " + std::string(setting.above_minimum ? "above " : "from ") +
             number_text(setting.minimum) + (setting.above_minimum ? " and at most " : " to ") +
             number_text(setting.maximum);
    if (setting.section == "overload") reason = setting.reason;
  }
  return false;
}

bool check_text(const Setting& setting, const std::string& text, std::string& reason) {
  if (setting.choices.empty()) return true;
  std::istringstream words{std::string(setting.choices)};
  for (std::string word; words >> word;) {
    if (word == text) return true;
  }
  reason = "must be one of: " + std::string(setting.choices);
  return false;
}

bool ascending(const std::vector<double>& numbers, std::string& reason) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!(numbers[i] > 0) || !std::isfinite(numbers[i]) ||
        (i > 0 && numbers[i] <= numbers[i - 1])) {
      reason = "must be numbers above 0, strictly ascending";
      return false;
    }
  }
  return true;
}

bool parse_number(std::string_view text, double& number) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && end == text.data() + text.size();
}

std::string_view wanted(SettingKind kind) {
  switch (kind) {
    case SettingKind::kBool:
      return "true or false";
    case SettingKind::kInteger:
      return "an integer";
    case SettingKind::kNumber:
      return "a number";
    case SettingKind::kText:
      return "a string";
    case SettingKind::kTexts:
      return "a list of strings";
    case SettingKind::kNumbers:
      return "a list of numbers";
    case SettingKind::kMap:
      return "a table of strings";
  }
  return "a value";
}

}  // namespace

std::span<const Setting> all_settings() {
  return table();
}

const Setting* find_setting(std::string_view section, std::string_view key) {
  for (const auto& setting : table()) {
    if (setting.section == section && setting.key == key) return &setting;
  }
  return nullptr;
}

const Setting* find_flag(std::string_view flag) {
  for (const auto& setting : table()) {
    if (!flag.empty() &&
        (setting.flag == flag || setting.alias == flag || setting.off_flag == flag))
      return &setting;
  }
  return nullptr;
}

bool read_value(const Setting& setting, const Node& node, OptionValue& value, std::string& reason) {
  const auto wrong = [&] {
    reason = "is " + std::string(describe_kind(node.kind)) + ", must be " +
             std::string(wanted(setting.kind));
    return false;
  };
  switch (setting.kind) {
    case SettingKind::kBool:
      if (node.kind != NodeKind::kBool) return wrong();
      value = node.flag;
      return true;
    case SettingKind::kInteger:
      if (node.kind != NodeKind::kInteger) return wrong();
      value = node.integer;
      return check_number(setting, node.number, reason);
    case SettingKind::kNumber:
      if (node.kind != NodeKind::kInteger && node.kind != NodeKind::kFloat) return wrong();
      value = node.number;
      return check_number(setting, node.number, reason);
    case SettingKind::kText:
      if (node.kind != NodeKind::kString) return wrong();
      value = node.text;
      return check_text(setting, node.text, reason);
    case SettingKind::kTexts: {
      if (node.kind != NodeKind::kArray) return wrong();
      std::vector<std::string> texts;
      for (const auto& child : node.children) {
        if (child.kind != NodeKind::kString) return wrong();
        texts.push_back(child.text);
      }
      value = std::move(texts);
      return true;
    }
    case SettingKind::kNumbers: {
      if (node.kind != NodeKind::kArray) return wrong();
      std::vector<double> numbers;
      for (const auto& child : node.children) {
        if (child.kind != NodeKind::kInteger && child.kind != NodeKind::kFloat) return wrong();
        numbers.push_back(child.number);
      }
      const bool fine = ascending(numbers, reason);
      value = std::move(numbers);
      return fine;
    }
    case SettingKind::kMap: {
      if (node.kind != NodeKind::kTable) return wrong();
      StringMap map;
      for (const auto& child : node.children) {
        if (child.kind != NodeKind::kString) return wrong();
        map[child.key] = child.text;
      }
      value = std::move(map);
      return true;
    }
  }
  return false;
}

bool read_value(const Setting& setting, std::span<const std::string> words, OptionValue& value,
                std::string& reason) {
  const bool single = setting.kind != SettingKind::kTexts &&
                      setting.kind != SettingKind::kNumbers && setting.kind != SettingKind::kMap &&
                      setting.kind != SettingKind::kBool;
  if (setting.kind != SettingKind::kBool && words.empty()) {
    reason = "needs a value: " + std::string(wanted(setting.kind));
    return false;
  }
  if (single && words.size() > 1) {
    reason = "takes one value";
    return false;
  }
  switch (setting.kind) {
    case SettingKind::kBool:
      if (words.size() > 1 || (words.size() == 1 && words[0] != "true" && words[0] != "false")) {
        reason = "takes no value, or true or false";
        return false;
      }
      value = words.empty() || words[0] == "true";
      return true;
    case SettingKind::kInteger: {
      std::int64_t integer = 0;
      const std::string& text = words[0];
      const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), integer);
      if (code != std::errc() || end != text.data() + text.size()) {
        reason = "must be an integer";
        return false;
      }
      value = integer;
      return check_number(setting, static_cast<double>(integer), reason);
    }
    case SettingKind::kNumber: {
      double number = 0;
      if (!parse_number(words[0], number)) {
        reason = "must be a number";
        return false;
      }
      value = number;
      return check_number(setting, number, reason);
    }
    case SettingKind::kText:
      value = words[0];
      return check_text(setting, words[0], reason);
    case SettingKind::kTexts:
      value = std::vector<std::string>(words.begin(), words.end());
      return true;
    case SettingKind::kNumbers: {
      std::vector<double> numbers(words.size());
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (!parse_number(words[i], numbers[i])) {
          reason = "must be numbers";
          return false;
        }
      }
      const bool fine = ascending(numbers, reason);
      value = std::move(numbers);
      return fine;
    }
    case SettingKind::kMap: {
      StringMap map;
      for (const auto& word : words) {
        const std::size_t equals = word.find('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
          reason = "must be written as alias=canonical";
          return false;
        }
        const auto [place, fresh] = map.emplace(word.substr(0, equals), word.substr(equals + 1));
        if (!fresh && place->second != word.substr(equals + 1)) {
          reason = "names '" + place->first + "' twice with different targets";
          return false;
        }
      }
      value = std::move(map);
      return true;
    }
  }
  return false;
}

bool is_flag_of_reference(std::string_view flag) {
  static constexpr std::string_view kFlags[] = {"api-key",
                                                "assignment-mode",
                                                "balance-abs-threshold",
                                                "balance-rel-threshold",
                                                "balance-token-usage-threshold",
                                                "block-size",
                                                "cache-boundaries",
                                                "cache-index",
                                                "cache-threshold",
                                                "cache-ttl-secs",
                                                "chat-template",
                                                "control-plane-api-keys",
                                                "decode",
                                                "decode-policy",
                                                "decode-selector",
                                                "disable-audit-logging",
                                                "disable-tokenizer-autoload",
                                                "enable-mesh",
                                                "enable-trace",
                                                "enable-wasm",
                                                "encode",
                                                "encode-policy",
                                                "encode-selector",
                                                "epd-disaggregation",
                                                "eviction-interval",
                                                "history-backend",
                                                "jwt-audience",
                                                "jwt-issuer",
                                                "jwt-jwks-uri",
                                                "jwt-role-claim",
                                                "jwt-role-mapping",
                                                "kv-indexer-max-entries",
                                                "kv-indexer-ttl-secs",
                                                "least-load-default-throughput",
                                                "least-load-kv-pressure-weight",
                                                "least-load-max-waiting-requests",
                                                "least-load-mean-prefill-tokens",
                                                "max-concurrent-requests",
                                                "max-idle-secs",
                                                "max-tree-size",
                                                "mcp-config-path",
                                                "model-id-from",
                                                "model-path",
                                                "multimodal-tensor-transport",
                                                "otlp-traces-endpoint",
                                                "overlap-decay",
                                                "overload-token-usage-threshold",
                                                "pd-disaggregation",
                                                "prefill",
                                                "prefill-policy",
                                                "prefill-selector",
                                                "prefix-hash-balance-abs-threshold",
                                                "prefix-hash-load-factor",
                                                "prefix-token-count",
                                                "priority-scheduler-config",
                                                "priority-scheduler-default-max-class",
                                                "priority-scheduler-enabled",
                                                "queue-size",
                                                "queue-timeout-secs",
                                                "rate-limit-tokens-per-second",
                                                "reasoning-parser",
                                                "redis-url",
                                                "router-selector",
                                                "routing-key-headers",
                                                "routing-key-override",
                                                "selection-temperature",
                                                "selector",
                                                "service-discovery",
                                                "service-discovery-namespace",
                                                "service-discovery-port",
                                                "storage-context-headers",
                                                "tenant-api-key",
                                                "tenant-header-name",
                                                "tenant-rate-limit-config",
                                                "tenant-rate-limit-enabled",
                                                "tls-cert-path",
                                                "tls-key-path",
                                                "tokenizer-path",
                                                "tool-call-parser",
                                                "trust-tenant-header",
                                                "upstream-http2",
                                                "zmq-engine-count"};
  return std::find(std::begin(kFlags), std::end(kFlags), flag) != std::end(kFlags);
}

}  // namespace smg
