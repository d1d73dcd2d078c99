#include "probe.hpp"

#include "endpoint.hpp"
#include "transport.hpp"

namespace smg::http {

Probe::Probe(Endpoint& endpoint, const smg_probe& wanted, smg_probe_done done, void* context)
    : endpoint_(endpoint),
      what_(wanted.what),
      anonymous_((wanted.flags & SMG_PROBE_ANONYMOUS) != 0),
      deadline_(endpoint.transport().services().now() + wanted.timeout_ns),
      health_path_(wanted.health_path.size == 0 ? "/health" : text(wanted.health_path)),
      done_(done),
      context_(context),
      runtime_(text(endpoint.worker().runtime)) {}

void Probe::start(Endpoint& endpoint, const smg_probe& wanted, smg_probe_done done, void* context) {
  auto* probe = new Probe(endpoint, wanted, done, context);
  endpoint.add(*probe);
  if ((wanted.what & SMG_PROBE_HEALTH) != 0) return probe->go(Step::health);
  if ((wanted.what & (SMG_PROBE_IDENTITY | SMG_PROBE_MODELS)) != 0) return probe->go(Step::models);
  probe->finish(false, "the probe asks for nothing this transport knows");
}

void Probe::abandon() {
  fetch_.cancel();
  finish(false, "the worker was removed during the probe");
}

void Probe::go(Step step) {
  step_ = step;
  switch (step) {
    case Step::health:
      path_ = health_path_;
      break;
    case Step::models:
      path_ = "/v1/models";
      break;
    case Step::version:
      path_ = "/version";
      break;
    case Step::server_info:
      path_ = "/server_info";
      break;
    case Step::old_server_info:
      path_ = "/get_server_info";
      break;
    case Step::model_info:
      path_ = "/model_info";
      break;
    case Step::old_model_info:
      path_ = "/get_model_info";
      break;
    case Step::done:
      if ((what_ & SMG_PROBE_IDENTITY) != 0) facts_.label_first_model();
      return finish(any_answer_, any_answer_ ? "" : first_failure_);
  }
  const bool anonymous = anonymous_ && step == Step::health;
  fetch_.run(
      endpoint_, path_, anonymous, deadline_,
      [](void* context) { static_cast<Probe*>(context)->answered(); }, this);
}

void Probe::answered() {
  const bool ok = fetch_.ok();
  if (ok) {
    any_answer_ = true;
  } else if (first_failure_.empty()) {
    first_failure_ = describe_failure();
  }
  switch (step_) {
    case Step::health:
      if (!ok) return finish(false, describe_failure());
      return go((what_ & (SMG_PROBE_IDENTITY | SMG_PROBE_MODELS)) != 0 ? Step::models : Step::done);
    case Step::models:
      if (ok) facts_.add_models(fetch_.body());
      return after_models();
    case Step::version:
      // Only a vLLM is asked, or one of which nothing is known: then having the route makes it one.
      if (ok) {
        runtime_ = "vllm";
        facts_.add_version(fetch_.body());
      }
      return go(runtime_.empty() ? Step::server_info : Step::done);
    case Step::server_info:
      if (fetch_.status() == 404) return go(Step::old_server_info);
      [[fallthrough]];
    case Step::old_server_info:
      if (ok) {
        if (runtime_.empty() && step_ == Step::server_info) runtime_ = "sglang";
        facts_.add_server_info(fetch_.body());
      }
      if (runtime_.empty() && !facts_.models().empty()) runtime_ = "generic";
      return go(runtime_.empty() ? Step::done : Step::model_info);
    case Step::model_info:
      if (fetch_.status() == 404) return go(Step::old_model_info);
      [[fallthrough]];
    case Step::old_model_info:
      if (ok) facts_.add_model_info(fetch_.body());
      return go(Step::done);
    case Step::done:
      break;
  }
}

void Probe::after_models() {
  if ((what_ & SMG_PROBE_IDENTITY) == 0) return go(Step::done);
  if (runtime_.empty()) runtime_ = facts_.owner();
  if (runtime_ != "vllm" && !runtime_.empty()) return go(Step::server_info);
  if (runtime_ == "vllm") facts_.label_first_model();
  go(Step::version);
}

std::string Probe::describe_failure() const {
  const std::string request = "GET " + std::string(endpoint_.base_path()) + std::string(path_);
  if (fetch_.status() != 0) return request + " answered " + std::to_string(fetch_.status());
  return request + " failed: " + fetch_.problem();
}

void Probe::finish(bool healthy, std::string_view detail) {
  std::vector<smg_view> models;
  std::vector<smg_label> labels;
  for (const std::string& model : facts_.models()) models.push_back(view(model));
  for (const auto& [key, value] : facts_.labels()) labels.push_back({view(key), view(value)});
  smg_probe_result result{};
  result.struct_size = sizeof result;
  result.healthy = healthy ? 1 : 0;
  result.detail = view(detail);
  result.runtime = view(runtime_);
  result.models = models.data();
  result.model_count = static_cast<uint32_t>(models.size());
  result.labels = labels.data();
  result.label_count = static_cast<uint32_t>(labels.size());
  endpoint_.remove(*this);
  done_(context_, &result);
  delete this;
}

}  // namespace smg::http
