#include "script.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <boost/json.hpp>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace smg::sim {

namespace {

namespace json = boost::json;

json::value to_json(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    json::object object;
    for (const auto& [key, value] : *table) object[key.str()] = to_json(value);
    return object;
  }
  if (const auto* array = node.as_array()) {
    json::array list;
    for (const auto& value : *array) list.push_back(to_json(value));
    return list;
  }
  if (const auto* text = node.as_string()) return json::value(text->get());
  if (const auto* number = node.as_integer()) return json::value(number->get());
  if (const auto* number = node.as_floating_point()) return json::value(number->get());
  if (const auto* flag = node.as_boolean()) return json::value(flag->get());
  return nullptr;
}

ScriptEvent parse_event(const toml::table& table, std::size_t engines) {
  json::object all = to_json(table).as_object();
  ScriptEvent event{0, Order::Fault, {}};
  const json::value* at = all.if_contains("at_ms");
  if (at == nullptr || !at->is_int64() || at->get_int64() < 0) {
    throw std::invalid_argument("at_ms must be a whole number, 0 or more");
  }
  event.at_ms = at->get_int64();
  all.erase("at_ms");
  if (const json::value* engine = all.if_contains("engine")) {
    const bool known = engine->is_int64() && engine->get_int64() >= 0 &&
                       static_cast<std::size_t>(engine->get_int64()) < engines;
    if (!known && *engine != json::value("all")) {
      throw std::invalid_argument("engine must be \"all\" or an index below " +
                                  std::to_string(engines));
    }
  }
  const json::value engine = all.contains("engine") ? all["engine"] : json::value("all");
  if (all.contains("config")) {
    event.order = Order::Config;
    event.fields = all["config"].as_object();
  } else if (all.contains("reset")) {
    event.order = Order::Reset;
  } else if (all.contains("fault")) {
    event.fields = all["fault"].as_object();
  } else {
    event.fields = std::move(all);
  }
  const json::value* kind = event.fields.if_contains("kind");
  if (event.order == Order::Fault && (kind == nullptr || *kind != json::value("none"))) {
    Fault::parse(event.fields);
  }
  event.fields["engine"] = engine;
  return event;
}

}  // namespace

std::vector<ScriptEvent> read_script(const std::string& file, std::size_t engines) {
  std::vector<ScriptEvent> events;
  toml::table root;
  try {
    root = toml::parse_file(file);
  } catch (const toml::parse_error& error) {
    std::ostringstream text;
    text << file << ": line " << error.source().begin.line << ": " << error.description();
    throw std::runtime_error(text.str());
  }
  const toml::array* list = root["event"].as_array();
  if (list == nullptr) throw std::runtime_error(file + ": has no [[event]] table");
  for (const toml::node& node : *list) {
    try {
      const toml::table* table = node.as_table();
      if (table == nullptr) throw std::invalid_argument("an event must be a [[event]] table");
      events.push_back(parse_event(*table, engines));
    } catch (const std::exception& error) {
      throw std::runtime_error(file + ": line " + std::to_string(node.source().begin.line) + ": " +
                               error.what());
    }
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const ScriptEvent& a, const ScriptEvent& b) { return a.at_ms < b.at_ms; });
  return events;
}

ScriptRunner::ScriptRunner(Loop& loop, std::vector<ScriptEvent> events, Engines& engines)
    : loop_(loop),
      events_(std::move(events)),
      engines_(engines),
      start_ms_(static_cast<std::int64_t>(Loop::monotonic_ms())),
      timer_(loop.timers(), &ScriptRunner::fired, this) {
  arm();
}

void ScriptRunner::arm() {
  if (next_ < events_.size()) timer_.arm(start_ms_ + events_[next_].at_ms);
}

void ScriptRunner::fired(void* self) {
  static_cast<ScriptRunner*>(self)->run_due();
}

void ScriptRunner::run_due() {
  const std::int64_t elapsed = loop_.now_ms() - start_ms_;
  for (; next_ < events_.size() && events_[next_].at_ms <= elapsed; ++next_) {
    const ScriptEvent& event = events_[next_];
    try {
      carry_out(event.order, event.fields, engines_);
    } catch (const std::exception& error) {
      std::cerr << "smg-engine-sim: script event at " << event.at_ms << " ms: " << error.what()
                << std::endl;
    }
  }
  arm();
}

}  // namespace smg::sim
