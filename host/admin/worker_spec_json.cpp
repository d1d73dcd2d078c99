#include "host/admin/worker_spec_json.hpp"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <initializer_list>
#include <limits>

#include "host/admin/json_fields.hpp"
#include "host/metrics/utf8.hpp"

namespace smg {
namespace {

namespace json = boost::json;

std::optional<json::object> parse_object(std::string_view body, SpecError& error) {
  boost::system::error_code problem;
  json::value value = json::parse(json::string_view(body.data(), body.size()), problem);
  if (problem) {
    error.body = {BodyFault::malformed, Extractor::plain, problem.message()};
    return std::nullopt;
  }
  if (!value.is_object()) {
    error.body = {BodyFault::wrong_shape, Extractor::plain, "the body must be an object"};
    return std::nullopt;
  }
  return std::move(value.get_object());
}

bool wrong_shape(SpecError& error, const std::string& reason) {
  if (reason.empty()) return false;
  error.body = {BodyFault::wrong_shape, Extractor::plain, reason};
  return true;
}

void read_choice(const JsonFields& fields, std::string_view key, std::string& to,
                 std::initializer_list<std::string_view> choices) {
  std::string value;
  fields.read(key, value);
  if (value.empty() || fields.failed()) return;
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) {
    to = value;
    return;
  }
  std::string wanted = "one of";
  for (const auto choice : choices)
    wanted += (wanted.size() > 6 ? ", " : " ") + std::string(choice);
  fields.refuse(key, "\"" + valid_utf8(value, 64) + "\"", wanted);
}

// Checked by type, kept as it came.
template <class T>
void carry(const JsonFields& fields, std::string_view key, json::object& to) {
  std::optional<T> checked;
  fields.read(key, checked);
  if (checked) to[json::string_view(key.data(), key.size())] = *fields.find(key);
}

ModelCard read_card(const JsonFields& fields) {
  ModelCard card{""};
  if (fields.find("id", false) == nullptr) {
    fields.fail("id", json::value(), "a string");
    return card;
  }
  fields.read("id", card.id);
  fields.read("aliases", card.aliases);
  json::object details;
  using Texts = std::vector<std::string>;
  carry<std::string>(fields, "display_name", details);
  carry<Texts>(fields, "model_type", details);
  carry<std::string>(fields, "hf_model_type", details);
  carry<Texts>(fields, "architectures", details);
  carry<std::string>(fields, "provider", details);
  carry<std::uint32_t>(fields, "context_length", details);
  for (const char* key : {"tokenizer_path", "chat_template", "reasoning_parser", "tool_parser"}) {
    carry<std::string>(fields, key, details);
  }
  if (const auto* metadata = fields.find("metadata")) details["metadata"] = *metadata;
  if (fields.inner("id2label")) details["id2label"] = *fields.find("id2label");
  carry<std::uint32_t>(fields, "num_labels", details);
  if (!details.empty()) card.details = json::serialize(details);
  return card;
}

void read_cards(const JsonFields& fields, std::string& problem, WorkerSpec& spec) {
  const auto* models = fields.find("models", false);
  if (models == nullptr) return;
  if (!models->is_array()) return fields.fail("models", *models, "an array of model cards");
  std::size_t index = 0;
  for (const auto& model : models->get_array()) {
    const std::string place = "models[" + std::to_string(index++) + "]";
    if (!model.is_object()) return fields.fail(place, model, "a model card, an object");
    spec.models.push_back(read_card(JsonFields(model.get_object(), place + ".", problem)));
  }
}

void read_health(const JsonFields& fields, WorkerHealth& health) {
  const auto inner = fields.inner("health");
  if (!inner) return;
  inner->read("timeout_secs", health.timeout_secs);
  inner->read("check_interval_secs", health.check_interval_secs);
  inner->read("success_threshold", health.success_threshold);
  inner->read("failure_threshold", health.failure_threshold);
  inner->read("disable_health_check", health.disable_health_check);
  inner->read("drain_settle_secs", health.drain_settle_secs);
}

void read_labels(const JsonFields& fields, StringMap& labels) {
  const auto* value = fields.find("labels", false);
  if (value == nullptr) return;
  if (!value->is_object()) return fields.fail("labels", *value, "an object of strings");
  for (const auto& [key, label] : value->get_object()) {
    if (!label.is_string()) return fields.fail("labels", label, "an object of strings");
    labels[std::string(key.data(), key.size())] =
        std::string(label.get_string().data(), label.get_string().size());
  }
}

void read_resilience(const JsonFields& fields, WorkerResilience& to) {
  const auto inner = fields.inner("resilience");
  if (!inner) return;
  inner->read("max_retries", to.max_retries);
  inner->read("initial_backoff_ms", to.initial_backoff_ms);
  inner->read("max_backoff_ms", to.max_backoff_ms);
  inner->read("backoff_multiplier", to.backoff_multiplier);
  inner->read("jitter_factor", to.jitter_factor);
  inner->read("disable_retry", to.disable_retry);
  inner->read("cb_failure_threshold", to.cb_failure_threshold);
  inner->read("cb_success_threshold", to.cb_success_threshold);
  inner->read("cb_timeout_secs", to.cb_timeout_secs);
  inner->read("cb_window_secs", to.cb_window_secs);
  inner->read("disable_circuit_breaker", to.disable_circuit_breaker);
  inner->read("retryable_status_codes", to.retryable_status_codes);
  inner->read("capacity_status_codes", to.capacity_status_codes);
}

void read_tls(const JsonFields& fields, WorkerTls& to) {
  const auto inner = fields.inner("tls");
  if (!inner) return;
  std::optional<std::vector<std::string>> ca_cert_paths;
  std::optional<std::string> cert, key;
  inner->read("ca_cert_paths", ca_cert_paths);
  inner->read("client_cert_path", cert);
  inner->read("client_key_path", key);
  to = {ca_cert_paths.value_or(std::vector<std::string>{}), cert.value_or(""), key.value_or("")};
}

std::string unfit_cost(double cost) {
  if (cost >= 0 && cost <= std::numeric_limits<float>::max()) return {};
  return "cost must be at least 0 and at most 3.4e38";
}

std::string unfit(const WorkerSpec& spec) {
  const WorkerResilience& own = spec.resilience;
  const auto below = [](const auto& value, auto least) { return value && *value < least; };
  if (below(own.max_retries, 1u)) return "resilience.max_retries is 0, must be at least 1";
  if (below(own.initial_backoff_ms, 1u)) return "resilience.initial_backoff_ms is 0, must be > 0";
  if (own.max_backoff_ms && own.initial_backoff_ms &&
      *own.max_backoff_ms < *own.initial_backoff_ms) {
    return "resilience.max_backoff_ms is below resilience.initial_backoff_ms";
  }
  if (below(own.backoff_multiplier, 1.0)) {
    return "resilience.backoff_multiplier is below 1, must be at least 1.0";
  }
  if (own.jitter_factor && !(*own.jitter_factor >= 0 && *own.jitter_factor <= 1)) {
    return "resilience.jitter_factor is outside of 0.0 to 1.0";
  }
  if (below(own.cb_failure_threshold, 1u)) {
    return "resilience.cb_failure_threshold is 0, must be at least 1";
  }
  if (below(own.cb_success_threshold, 1u)) {
    return "resilience.cb_success_threshold is 0, must be at least 1";
  }
  if (below(own.cb_timeout_secs, 1u)) return "resilience.cb_timeout_secs is 0, must be > 0";
  if (below(own.cb_window_secs, 1u)) return "resilience.cb_window_secs is 0, must be > 0";
  for (const auto* codes : {&own.retryable_status_codes, &own.capacity_status_codes}) {
    if (!*codes) continue;
    for (const auto code : **codes) {
      if (code < 100 || code > 599) {
        return "resilience: " + std::to_string(code) + " is no status code from 100 to 599";
      }
    }
  }
  if (auto problem = unfit_cost(spec.cost); !problem.empty()) return problem;
  if (const auto problem = credential_problem(spec.api_key); !problem.empty()) {
    return "api_key " + problem;
  }
  if (const auto problem = spec.tls.problem(spec.url.scheme); !problem.empty()) {
    return "tls " + problem;
  }
  if (spec.models.size() > kMostModels) {
    return "models has " + std::to_string(spec.models.size()) + " model cards, must be at most " +
           std::to_string(kMostModels);
  }
  for (const auto& card : spec.models) {
    if (card.id.empty()) return "models: the id of a model card is empty";
  }
  return {};
}

}  // namespace

std::optional<WorkerSpec> parse_worker_spec(std::string_view body, SpecError& error) {
  const auto object = parse_object(body, error);
  if (!object) return std::nullopt;
  WorkerSpec spec;
  std::string problem;
  const JsonFields fields(*object, "", problem);
  std::string url, mode;
  fields.read("url", url);
  if (fields.find("url", false) == nullptr) problem = "missing field: url";
  read_cards(fields, problem, spec);
  read_choice(fields, "worker_type", spec.worker_type, {"regular", "prefill", "decode", "encode"});
  read_choice(fields, "connection_mode", mode, {"http", "grpc", "zmq"});
  for (const char* key : {"runtime_type", "runtime"}) {
    read_choice(
        fields, key, spec.runtime,
        {"unspecified", "sglang", "vllm", "trtllm", "mlx", "tokenspeed", "generic", "external"});
  }
  if (spec.runtime == "unspecified") spec.runtime.clear();
  read_labels(fields, spec.labels);
  fields.read("priority", spec.priority);
  fields.read("cost", spec.cost);
  std::optional<std::string> key;
  fields.read("api_key", key);
  spec.api_key = key.value_or("");
  fields.read("load_monitor_interval_secs", spec.load_monitor_interval_secs);
  if (const auto overload = fields.inner("overload")) {
    overload->read("waiting_requests", spec.overload.waiting_requests);
    overload->read("token_usage", spec.overload.token_usage);
  }
  read_health(fields, spec.health);
  read_resilience(fields, spec.resilience);
  read_tls(fields, spec.tls);
  json::object carried;
  for (const char* text : {"provider", "dp_base_url", "kv_connector", "kv_role", "kv_engine_id",
                           "multimodal_tensor_transport", "zmq_handshake_address"}) {
    carry<std::string>(fields, text, carried);
  }
  carry<std::uint16_t>(fields, "bootstrap_port", carried);
  for (const char* number : {"dp_rank", "dp_size", "kv_block_size", "max_connection_attempts"}) {
    carry<std::uint32_t>(fields, number, carried);
  }
  carry<std::uint64_t>(fields, "multimodal_shm_min_bytes", carried);
  if (const auto pool = fields.inner("http_pool")) {
    json::object checked;
    for (const char* number : {"pool_max_idle_per_host", "pool_idle_timeout_secs", "timeout_secs",
                               "connect_timeout_secs"}) {
      carry<std::uint64_t>(*pool, number, checked);
    }
  }
  if (!carried.empty()) spec.carried = json::serialize(carried);
  if (wrong_shape(error, problem)) return std::nullopt;
  std::string reason;
  auto parsed = parse_worker_url(url, reason);
  if (!parsed) {
    error.refusal = "url \"" + valid_utf8(printable_url(url), 256) + "\" " + reason;
    return std::nullopt;
  }
  spec.url = std::move(*parsed);
  error.refusal = unfit(spec);
  if (!error.refusal.empty()) return std::nullopt;
  return spec;
}

std::optional<WorkerPatch> parse_worker_patch(std::string_view body, SpecError& error) {
  const auto object = parse_object(body, error);
  if (!object) return std::nullopt;
  WorkerPatch patch;
  std::string problem;
  const JsonFields fields(*object, "", problem);
  fields.read("priority", patch.priority);
  fields.read("cost", patch.cost);
  read_labels(fields, patch.labels);
  fields.read("api_key", patch.api_key);
  read_health(fields, patch.health);
  if (wrong_shape(error, problem)) return std::nullopt;
  error.refusal = unfit_cost(patch.cost.value_or(0));
  if (const auto wrong = credential_problem(patch.api_key.value_or("")); !wrong.empty()) {
    error.refusal = "api_key " + wrong;
  }
  if (!error.refusal.empty()) return std::nullopt;
  return patch;
}

}  // namespace smg
