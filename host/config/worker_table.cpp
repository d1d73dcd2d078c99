#include "host/config/worker_table.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "host/config/nearest.hpp"
#include "host/config/settings.hpp"

namespace smg {
namespace {

// Reads the keys of one table; finish() reports those that nobody asked for.
class TableReader {
 public:
  TableReader(const Node& table, std::string name, const std::string& file, Problems& problems)
      : table_(table), name_(std::move(name)), file_(file), problems_(problems) {}

  const Node* find(std::string_view key) {
    keys_.push_back(key);
    for (const auto& child : table_.children) {
      if (child.key == key) return &child;
    }
    return nullptr;
  }
  void fail(const Node& node, const std::string& reason) {
    report(node, node.key == "api_key" ? "" : " = " + printable_value(node), reason);
  }
  void wrong(const Node& node, const std::string& wanted) {
    fail(node, "is " + std::string(describe_kind(node.kind)) + ", must be " + wanted);
  }
  // `setting` says what is allowed; its kind must be that of the member.
  template <class T>
  void value(std::string_view key, T& to, const Setting& setting) {
    const Node* node = find(key);
    if (node == nullptr) return;
    OptionValue read;
    std::string reason;
    if (!read_value(setting, *node, read, reason)) return fail(*node, reason);
    store(read, to);
  }
  template <class T>
  void number(std::string_view key, T& to, double minimum = 0, std::string_view reason = {}) {
    Setting setting;
    setting.kind = SettingKind::kInteger;
    setting.minimum = minimum;
    setting.maximum = static_cast<double>(limit(to));
    setting.reason = reason;
    value(key, to, setting);
  }
  void text(std::string_view key, std::string& to, std::vector<std::string_view> choices = {}) {
    Setting setting;
    setting.kind = SettingKind::kText;
    setting.choices = std::move(choices);
    value(key, to, setting);
  }
  void flag(std::string_view key, std::optional<bool>& to) { value(key, to, Setting{}); }
  void codes(std::string_view key, std::optional<std::vector<std::uint16_t>>& to) {
    const Node* node = find(key);
    if (node == nullptr) return;
    if (node->kind != NodeKind::kArray) return wrong(*node, "a list of status codes");
    std::vector<std::uint16_t> codes;
    for (const auto& child : node->children) {
      if (child.kind != NodeKind::kInteger || child.integer < 100 || child.integer > 599) {
        return fail(*node, printable_value(child) + " is no status code from 100 to 599");
      }
      codes.push_back(static_cast<std::uint16_t>(child.integer));
    }
    to = std::move(codes);
  }
  void table(std::string_view key, const std::function<void(TableReader&)>& read) {
    const Node* node = find(key);
    if (node == nullptr) return;
    if (node->kind != NodeKind::kTable) return wrong(*node, "a table");
    TableReader inner(*node, name_ + " " + std::string(key), file_, problems_);
    inner.joint_ = ".";
    read(inner);
    inner.finish();
  }
  void finish() {
    for (const auto& child : table_.children) {
      if (std::find(keys_.begin(), keys_.end(), child.key) != keys_.end()) continue;
      report(child, printable_unknown(child), "unknown key" + suggestion(child.key, keys_));
    }
  }

 private:
  void report(const Node& node, const std::string& value, const std::string& reason) {
    problems_.add(file_ + ":" + std::to_string(node.key_at.line) + ": " + name_ +
                  std::string(joint_) + printable_text(node.key) + value + ": " + reason);
  }
  template <class T>
  static constexpr T limit(const T&) {
    return std::numeric_limits<T>::max();
  }
  template <class T>
  static constexpr T limit(const std::optional<T>&) {
    return std::numeric_limits<T>::max();
  }
  template <class T>
  static void store(const OptionValue& read, T& to) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      to = static_cast<T>(std::get<std::int64_t>(read));
    } else {
      to = std::get<T>(read);
    }
  }
  template <class T>
  static void store(const OptionValue& read, std::optional<T>& to) {
    store(read, to.emplace());
  }

  const Node& table_;
  const std::string name_;
  const std::string& file_;
  Problems& problems_;
  std::string_view joint_ = " ";
  std::vector<std::string_view> keys_;
};

Setting fraction(double minimum, double maximum, bool above_minimum = false,
                 std::string_view reason = {}) {
  Setting setting;
  setting.kind = SettingKind::kNumber;
  setting.minimum = minimum;
  setting.maximum = maximum;
  setting.above_minimum = above_minimum;
  setting.reason = reason;
  return setting;
}

constexpr double kAnyNumber = std::numeric_limits<double>::max();

void read_models(TableReader& table, WorkerSpec& spec) {
  if (const Node* one = table.find("model")) {
    if (one->kind != NodeKind::kString) {
      table.wrong(*one, "a string");
    } else if (one->text.empty()) {
      table.fail(*one, "must not be empty");
    } else {
      spec.models = {one->text};
    }
  }
  const Node* many = table.find("models");
  if (many == nullptr) return;
  if (!spec.models.empty()) return table.fail(*many, "stands beside model; use one of the two");
  if (many->kind != NodeKind::kArray) return table.wrong(*many, "a list of strings");
  for (const auto& child : many->children) {
    if (child.kind != NodeKind::kString || child.text.empty()) {
      return table.fail(*many, "must be a list of strings that are not empty");
    }
    spec.models.emplace_back(child.text);
  }
}

void read_resilience(TableReader& table, WorkerResilience& to) {
  table.number("max_retries", to.max_retries, 1);
  table.number("initial_backoff_ms", to.initial_backoff_ms, 1);
  table.number("max_backoff_ms", to.max_backoff_ms, 1);
  table.value("backoff_multiplier", to.backoff_multiplier, fraction(1, kAnyNumber));
  table.value("jitter_factor", to.jitter_factor, fraction(0, 1));
  table.flag("disable_retry", to.disable_retry);
  table.number("cb_failure_threshold", to.cb_failure_threshold, 1);
  table.number("cb_success_threshold", to.cb_success_threshold, 1);
  table.number("cb_timeout_secs", to.cb_timeout_secs, 1);
  table.number("cb_window_secs", to.cb_window_secs, 1);
  table.flag("disable_circuit_breaker", to.disable_circuit_breaker);
  table.codes("retryable_status_codes", to.retryable_status_codes);
  table.codes("capacity_status_codes", to.capacity_status_codes);
}

}  // namespace

WorkerSpec read_worker(const Node& node, const std::string& file, Problems& problems) {
  WorkerSpec spec;
  TableReader table(node, "[[worker]]", file, problems);
  const Node* url = table.find("url");
  if (url == nullptr) {
    problems.add(file + ":" + std::to_string(node.at.line) + ": [[worker]] has no url");
  } else if (url->kind != NodeKind::kString) {
    table.wrong(*url, "a string");
  } else {
    std::string reason;
    if (auto parsed = parse_worker_url(url->text, reason)) {
      spec.url = std::move(*parsed);
    } else {
      Node shown = *url;
      shown.text = printable_url(url->text);
      table.fail(shown, reason);
    }
  }
  read_models(table, spec);
  table.text("worker_type", spec.worker_type, {"regular", "prefill", "decode", "encode"});
  table.text(
      "runtime", spec.runtime,
      {"unspecified", "sglang", "vllm", "trtllm", "mlx", "tokenspeed", "generic", "external"});
  if (spec.runtime == "unspecified") spec.runtime.clear();
  Setting labels;
  labels.kind = SettingKind::kMap;
  table.value("labels", spec.labels, labels);
  table.number("priority", spec.priority);
  table.value("cost", spec.cost, fraction(0, kAnyNumber));
  table.text("api_key", spec.api_key);
  if (const auto problem = credential_problem(spec.api_key); !problem.empty()) {
    table.fail(*table.find("api_key"), problem);
  }
  table.number("load_monitor_interval_secs", spec.load_monitor_interval_secs);
  table.table("overload", [&](TableReader& inner) {
    inner.number("waiting_requests", spec.overload.waiting_requests, 1,
                 "Must be >= 1 (0 would mark every worker overloaded)");
    inner.value("token_usage", spec.overload.token_usage,
                fraction(0, 1, true, "Must be a fraction in (0.0, 1.0]"));
  });
  table.table("health", [&](TableReader& inner) {
    inner.number("timeout_secs", spec.health.timeout_secs);
    inner.number("check_interval_secs", spec.health.check_interval_secs);
    inner.number("success_threshold", spec.health.success_threshold);
    inner.number("failure_threshold", spec.health.failure_threshold);
    inner.flag("disable_health_check", spec.health.disable_health_check);
    inner.number("drain_settle_secs", spec.health.drain_settle_secs);
  });
  table.table("resilience", [&](TableReader& inner) { read_resilience(inner, spec.resilience); });
  table.table("tls", [&](TableReader& inner) {
    Setting paths;
    paths.kind = SettingKind::kTexts;
    inner.value("ca_cert_paths", spec.tls.ca_cert_paths, paths);
    inner.text("client_cert_path", spec.tls.client_cert_path);
    inner.text("client_key_path", spec.tls.client_key_path);
  });
  if (const auto problem = spec.tls.problem(spec.url.scheme); !problem.empty()) {
    table.fail(*table.find("tls"), problem);
  }
  table.finish();
  return spec;
}

}  // namespace smg
