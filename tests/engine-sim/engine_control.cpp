// What the control port and scripts do to an engine.
#include <boost/json.hpp>
#include <sstream>
#include <stdexcept>

#include "engine.hpp"

namespace smg::sim {

namespace {

namespace json = boost::json;

double bounded(std::string_view key, const json::value& value, double minimum, double maximum) {
  const auto shown = [](double limit) {
    std::ostringstream text;
    text << limit;
    return text.str();
  };
  double number = 0;
  if (value.is_number()) number = value.to_number<double>();
  if (!value.is_number() || !(number >= minimum && number <= maximum)) {
    throw std::invalid_argument("'" + std::string(key) + "' is " + json::serialize(value) +
                                ", must be a number from " + shown(minimum) + " to " +
                                shown(maximum));
  }
  return number;
}

bool boolean(std::string_view key, const json::value& value) {
  if (!value.is_bool()) {
    throw std::invalid_argument("'" + std::string(key) + "' must be true or false");
  }
  return value.get_bool();
}

json::array ranks(const json::value& value) {
  if (value.is_null()) return {};
  if (value.is_object()) return {value};
  if (value.is_array()) {
    for (const json::value& rank : value.get_array()) {
      if (!rank.is_object()) throw std::invalid_argument("'report' must hold objects");
    }
    return value.get_array();
  }
  throw std::invalid_argument(
      "'report' must be an object, a list of objects (one per rank) or null");
}

}  // namespace

void Engine::add_fault(const json::object& fields) {
  const json::value* kind = fields.if_contains("kind");
  if (kind != nullptr && kind->is_string() && kind->get_string() == "none") {
    faults_.clear();
    port_.listen();
    port_.set_idle_limit(-1);
    return;
  }
  Fault fault = Fault::parse(fields);
  if (fault.kind == "refuse") {
    port_.refuse();
    const json::value* drop = fields.if_contains("drop");
    if (drop != nullptr && drop->is_bool() && drop->get_bool()) port_.drop_connections();
  } else if (fault.kind == "idle_close") {
    const json::value* after = fields.if_contains("ms");
    port_.set_idle_limit(after != nullptr ? after->to_number<std::int64_t>() : 0);
  }
  if (fault.is_state()) faults_.clear(fault.kind);
  faults_.add(std::move(fault));
}

void Engine::configure(const json::object& fields) {
  EngineSettings changed = settings_;
  ModelSettings& batch = changed.batch;
  json::array report = report_;
  bool paused = model_.paused();
  for (const auto& [key, value] : fields) {
    if (key == "engine" || key == "at_ms") {
      continue;
    } else if (key == "max_running") {
      batch.max_running = static_cast<std::uint32_t>(bounded(key, value, 1, 1e9));
    } else if (key == "kv_blocks") {
      batch.kv_blocks = static_cast<std::uint32_t>(bounded(key, value, 1, 1e9));
    } else if (key == "prefill_rate") {
      batch.prefill_rate = bounded(key, value, 0, 1e12);
    } else if (key == "decode_ms") {
      batch.decode_ms = bounded(key, value, 0, 1e7);
    } else if (key == "decode_growth") {
      batch.decode_growth = bounded(key, value, 0, 1e6);
    } else if (key == "paused") {
      paused = boolean(key, value);
    } else if (key == "native_loads") {
      changed.native_loads = boolean(key, value);
    } else if (key == "model") {
      if (!value.is_string()) throw std::invalid_argument("'model' must be a string");
      changed.model = std::string(value.get_string());
    } else if (key == "report") {
      report = ranks(value);
    } else {
      throw std::invalid_argument(
          "'" + std::string(key) +
          "' is unknown, must be one of: max_running, kv_blocks, prefill_rate, decode_ms, "
          "decode_growth, paused, native_loads, model, report");
    }
  }
  settings_ = std::move(changed);
  report_ = std::move(report);
  const double now = Loop::monotonic_ms();
  model_.change(settings_.batch, now);
  model_.pause(paused, now);
  model_changed();
}

void Engine::reset() {
  add_fault({{"kind", "none"}});
  settings_ = initial_;
  report_.clear();
  journal_.clear();
  const double now = Loop::monotonic_ms();
  model_.change(settings_.batch, now);
  model_.pause(false, now);
  model_.flush_cache();
  model_changed();
}

json::object Engine::state() const {
  json::array faults;
  for (const Fault& fault : faults_.all()) {
    json::object shown = fault.fields;
    shown["kind"] = fault.kind;
    shown["count"] = fault.count;
    faults.push_back(std::move(shown));
  }
  json::object state = journal_.counts();
  state["port"] = port_.number();
  state["url"] = port_.url();
  state["listening"] = port_.listening();
  state["connections"] = port_.connections().size();
  state["accepted"] = port_.accepted();
  state["running"] = model_.running() + paced_;
  state["waiting"] = model_.waiting();
  state["paused"] = model_.paused();
  state["used_blocks"] = model_.used_blocks();
  state["kv_blocks"] = settings_.batch.kv_blocks;
  state["token_usage"] = model_.token_usage();
  state["cache_hit_rate"] = model_.hit_rate();
  state["queried_tokens"] = model_.queried_tokens();
  state["hit_tokens"] = model_.hit_tokens();
  state["preemptions"] = model_.preemptions();
  state["tokens"] = model_.generated_tokens() + paced_tokens_;
  state["faults"] = std::move(faults);
  state["aborts"] = journal_.aborts();
  state["refusals"] = journal_.refusals();
  state["seen"] = journal_.requests(true);
  return state;
}

}  // namespace smg::sim
