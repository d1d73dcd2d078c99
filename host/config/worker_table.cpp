#include "host/config/worker_table.hpp"

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <sstream>
#include <vector>

#include "host/config/nearest.hpp"

namespace smg {
namespace {

// Reads the keys of one table; a key that nobody asked for is unknown.
class TableReader {
 public:
  TableReader(const Node& table, std::string name, const std::string& file, Problems& problems)
      : table_(table), name_(std::move(name)), file_(file), problems_(problems) {}
  ~TableReader() {
    for (const auto& child : table_.children) {
      bool known = false;
      for (const auto key : keys_) known = known || key == child.key;
      if (!known) fail(child, "unknown key" + suggestion(child.key, keys_), true);
    }
  }
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  const Node* find(std::string_view key) {
    keys_.push_back(key);
    for (const auto& child : table_.children) {
      if (child.key == key) return &child;
    }
    return nullptr;
  }
  void fail(const Node& node, const std::string& reason, bool with_value = true) {
    const std::string value =
        !with_value || node.key == "api_key" ? "" : " = " + printable_value(node);
    problems_.add(file_ + ":" + std::to_string(node.key_at.line) + ": [" + name_ + "] " + node.key +
                  value + ": " + reason);
  }
  void text(std::string_view key, std::string& to, std::string_view choices = {}) {
    const Node* node = find(key);
    if (node == nullptr) return;
    if (node->kind != NodeKind::kString) return wrong(*node, "a string");
    to = node->text;
    if (choices.empty()) return;
    std::istringstream words{std::string(choices)};
    for (std::string word; words >> word;) {
      if (word == to) return;
    }
    fail(*node, "must be one of: " + std::string(choices));
  }
  template <class T>
  void number(std::string_view key, T& to, double minimum = 0, double maximum = 0,
              std::string_view reason = {}) {
    const Node* node = find(key);
    if (node == nullptr) return;
    read_number(*node, to, minimum, maximum, reason);
  }
  template <class T>
  void number(std::string_view key, std::optional<T>& to, double minimum = 0, double maximum = 0,
              std::string_view reason = {}) {
    const Node* node = find(key);
    if (node == nullptr) return;
    T value{};
    if (read_number(*node, value, minimum, maximum, reason)) to = value;
  }
  void flag(std::string_view key, std::optional<bool>& to) {
    const Node* node = find(key);
    if (node == nullptr) return;
    if (node->kind != NodeKind::kBool) return wrong(*node, "true or false");
    to = node->flag;
  }
  void codes(std::string_view key, std::optional<std::vector<std::uint16_t>>& to) {
    const Node* node = find(key);
    if (node == nullptr) return;
    if (node->kind != NodeKind::kArray) return wrong(*node, "a list of status codes");
    to.emplace();
    for (const auto& child : node->children) {
      if (child.kind != NodeKind::kInteger || child.integer < 100 || child.integer > 599) {
        return fail(*node, "must hold status codes from 100 to 599");
      }
      to->push_back(static_cast<std::uint16_t>(child.integer));
    }
  }
  void table(std::string_view key, const std::function<void(TableReader&)>& read) {
    const Node* node = find(key);
    if (node == nullptr) return;
    if (node->kind != NodeKind::kTable) return wrong(*node, "a table");
    TableReader inner(*node, name_ + "." + std::string(key), file_, problems_);
    read(inner);
  }
  void wrong(const Node& node, const std::string& wanted) {
    fail(node, "is " + std::string(describe_kind(node.kind)) + ", must be " + wanted);
  }

 private:
  template <class T>
  bool read_number(const Node& node, T& to, double minimum, double maximum,
                   std::string_view reason) {
    constexpr bool kWhole = std::is_integral_v<T>;
    if (node.kind != NodeKind::kInteger && (kWhole || node.kind != NodeKind::kFloat)) {
      wrong(node, kWhole ? "an integer" : "a number");
      return false;
    }
    const double most = maximum > minimum
                            ? maximum
                            : std::min(static_cast<double>(std::numeric_limits<T>::max()), 9.2e18);
    if (!(node.number >= minimum) || node.number > most || !std::isfinite(node.number)) {
      std::ostringstream text;
      text << "must be from " << minimum << " to " << most;
      fail(node, reason.empty() ? text.str() : std::string(reason));
      return false;
    }
    to = kWhole ? static_cast<T>(node.integer) : static_cast<T>(node.number);
    return true;
  }

  const Node& table_;
  const std::string name_;
  const std::string& file_;
  Problems& problems_;
  std::vector<std::string_view> keys_;
};

void read_models(TableReader& table, WorkerSpec& spec) {
  if (const Node* one = table.find("model")) {
    if (one->kind != NodeKind::kString || one->text.empty()) {
      table.wrong(*one, "a string that is not empty");
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
    spec.models.push_back(child.text);
  }
}

void read_resilience(TableReader& table, WorkerResilience& to) {
  table.number("max_retries", to.max_retries, 1);
  table.number("initial_backoff_ms", to.initial_backoff_ms, 1);
  table.number("max_backoff_ms", to.max_backoff_ms, 1);
  table.number("backoff_multiplier", to.backoff_multiplier, 1, 1e6);
  table.number("jitter_factor", to.jitter_factor, 0, 1);
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
  TableReader table(node, "[worker]", file, problems);
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
  table.text("worker_type", spec.worker_type, "regular prefill decode encode");
  table.text("runtime", spec.runtime,
             "unspecified sglang vllm trtllm mlx tokenspeed generic external");
  if (spec.runtime == "unspecified") spec.runtime.clear();
  if (const Node* labels = table.find("labels")) {
    if (labels->kind != NodeKind::kTable) {
      table.wrong(*labels, "a table of strings");
    } else {
      for (const auto& child : labels->children) {
        if (child.kind != NodeKind::kString) {
          table.fail(*labels, "the label " + child.key + " must be a string");
        } else {
          spec.labels[child.key] = child.text;
        }
      }
    }
  }
  table.number("priority", spec.priority);
  table.number("cost", spec.cost, 0, 1e12);
  table.text("api_key", spec.api_key);
  table.number("load_monitor_interval_secs", spec.load_monitor_interval_secs);
  table.table("overload", [&](TableReader& inner) {
    inner.number("waiting_requests", spec.overload.waiting_requests, 1, 0,
                 "Must be >= 1 (0 would mark every worker overloaded)");
    inner.number("token_usage", spec.overload.token_usage,
                 std::numeric_limits<double>::denorm_min(), 1, "Must be a fraction in (0.0, 1.0]");
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
  return spec;
}

}  // namespace smg
