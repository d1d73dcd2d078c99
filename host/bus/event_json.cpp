#include "host/bus/event_json.hpp"

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>

#include "host/base/percent_decode.hpp"
#include "host/base/views.hpp"
#include "host/metrics/utf8.hpp"
#include "smg/worker.h"

namespace smg {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, SMG_EVENT_TYPE_COUNT> kTypeNames = {"",
                                                                           "worker_added",
                                                                           "worker_updated",
                                                                           "worker_removed",
                                                                           "worker_status",
                                                                           "load_report",
                                                                           "no_report",
                                                                           "verdict_changed",
                                                                           "liveness_changed",
                                                                           "kv_blocks",
                                                                           "plugin_state",
                                                                           "config_applied"};
constexpr std::array<std::string_view, 5> kStatusNames = {"pending", "ready", "not_ready", "failed",
                                                          "draining"};
constexpr std::array<std::string_view, 8> kNoReportNames = {
    "", "unsupported", "timeout", "connection", "error", "empty", "malformed", "gauge_missing"};
constexpr std::array<std::string_view, 4> kActionNames = {"", "stored", "removed", "cleared"};

json::string safe(std::string_view from) {
  return json::string(valid_utf8(from));
}
json::string safe(smg_view from) {
  return safe(text(from));
}

template <std::size_t N>
std::string_view name_of(const std::array<std::string_view, N>& names, std::uint32_t number) {
  return number < N ? names[number] : std::string_view("unknown");
}

std::string_view liveness_name(std::uint32_t state) {
  if (state == 0) return "none";
  if (state == SMG_STATE_UNREACHABLE) return "unreachable";
  if (state == SMG_STATE_WEDGED) return "wedged";
  return "unknown";
}

// JSON has no NaN and no infinity.
json::value number(double value) {
  return std::isfinite(value) ? json::value(value) : json::value();
}

std::string hex(std::uint64_t value) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  return {digits.data(), end};
}

void add_change(json::object& object, const smg_event_change& change) {
  switch (change.event.type) {
    case SMG_EVENT_WORKER_STATUS:
      object["before"] = name_of(kStatusNames, change.before);
      object["after"] = name_of(kStatusNames, change.after);
      break;
    case SMG_EVENT_NO_REPORT:
      object["cause"] = name_of(kNoReportNames, change.after);
      break;
    case SMG_EVENT_VERDICT_CHANGED:
      object["overloaded"] = change.after != 0;
      break;
    case SMG_EVENT_LIVENESS_CHANGED:
      object["before"] = liveness_name(change.before);
      object["after"] = liveness_name(change.after);
      break;
    case SMG_EVENT_PLUGIN_STATE:
      object["plugin"] = safe(change.subject);
      object["state"] = safe(change.text);
      return;
    case SMG_EVENT_CONFIG_APPLIED:
      object["generation"] = change.after;
      break;
    default:
      break;
  }
  if (change.subject.size > 0) object["subject"] = safe(change.subject);
  if (change.text.size > 0) object["text"] = safe(change.text);
}

void add_load(json::object& object, const smg_event_load& load) {
  const smg_load_report& report = load.report;
  object["source"] = safe(load.source);
  object["pushed"] = report.pushed != 0;
  object["sample_time_ns"] = report.sample_time;
  if (report.timestamp.size > 0) object["timestamp"] = safe(report.timestamp);
  json::array ranks;
  const auto* at = reinterpret_cast<const char*>(report.ranks);
  for (std::uint32_t i = 0; i < report.rank_count; ++i, at += report.rank_stride) {
    const auto& rank = *reinterpret_cast<const smg_rank_load*>(at);
    json::object item;
    item["dp_rank"] = rank.dp_rank;
    item["running_requests"] = rank.running_requests;
    item["waiting_requests"] = rank.waiting_requests;
    item["waiting_uncached_tokens"] = rank.waiting_uncached_tokens;
    item["used_tokens"] = rank.used_tokens;
    item["max_total_tokens"] = rank.max_total_tokens;
    item["token_usage"] = number(rank.token_usage);
    item["generation_throughput"] = number(rank.generation_throughput);
    item["cache_hit_rate"] = number(rank.cache_hit_rate);
    item["utilization"] = number(rank.utilization);
    if ((rank.present & SMG_LOAD_DISAGG_MODE) != 0) item["disagg_mode"] = safe(rank.disagg_mode);
    ranks.push_back(std::move(item));
  }
  object["ranks"] = std::move(ranks);
}

void add_kv(json::object& object, const smg_event_kv& kv) {
  object["action"] = name_of(kActionNames, kv.action);
  object["dp_rank"] = kv.dp_rank;
  json::array blocks;
  for (std::uint64_t i = 0; i < kv.block_count; ++i)
    blocks.push_back(json::value(hex(kv.blocks[i])));
  object["blocks"] = std::move(blocks);
  if (kv.parent != 0) object["parent"] = hex(kv.parent);
  object["block_size"] = kv.block_size;
  object["token_count"] = kv.token_count;
}

// Takes what stands before the first `separator` off the front of `rest`.
std::string_view take(std::string_view& rest, char separator) {
  const auto end = rest.find(separator);
  const auto piece = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return piece;
}

std::string all_type_names() {
  std::string names;
  for (const auto name : kTypeNames) {
    if (name.empty()) continue;
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

bool parse_types(std::string_view list, std::uint64_t& types, std::string& error) {
  types = 0;
  while (!list.empty()) {
    const auto name = take(list, ',');
    if (name.empty()) continue;
    std::uint32_t type = 1;
    while (type < SMG_EVENT_TYPE_COUNT && kTypeNames[type] != name) ++type;
    if (type == SMG_EVENT_TYPE_COUNT) {
      error =
          "unknown event type '" + valid_utf8(name, 64) + "': the types are " + all_type_names();
      return false;
    }
    types |= SMG_EVENT_MASK(type);
  }
  if (types == 0) {
    error = "the list of event types is empty: name some of " + all_type_names() +
            ", or leave `types` out for all";
  }
  return types != 0;
}

}  // namespace

std::string_view event_type_name(std::uint32_t type) {
  return type < SMG_EVENT_TYPE_COUNT ? kTypeNames[type] : std::string_view();
}

std::string event_json(const smg_event& event) {
  json::object object;
  object["sequence"] = event.sequence;
  object["type"] = event_type_name(event.type);
  object["time_ns"] = event.time;
  if (event.worker_url.size > 0) object["worker"] = safe(event.worker_url);
  switch (event.type) {
    case SMG_EVENT_LOAD_REPORT:
      add_load(object, reinterpret_cast<const smg_event_load&>(event));
      break;
    case SMG_EVENT_KV_BLOCKS:
      add_kv(object, reinterpret_cast<const smg_event_kv&>(event));
      break;
    case SMG_EVENT_WORKER_ADDED:
    case SMG_EVENT_WORKER_UPDATED:
    case SMG_EVENT_WORKER_REMOVED:
      break;
    default:
      add_change(object, reinterpret_cast<const smg_event_change&>(event));
      break;
  }
  return json::serialize(object);
}

void append_event_stream(std::string& out, const smg_event& event) {
  out += "id: " + std::to_string(event.sequence) + "\nevent: ";
  out += event_type_name(event.type);
  out += "\ndata: " + event_json(event) + "\n\n";
}

bool EventFilter::matches(const smg_event& event) const {
  if (event.type >= 64 || (types & SMG_EVENT_MASK(event.type)) == 0) return false;
  return worker.empty() || text(event.worker_url) == worker;
}

std::optional<EventFilter> parse_event_filter(std::string_view query, std::string& error) {
  EventFilter filter;
  while (!query.empty()) {
    std::string_view pair = take(query, '&');
    if (pair.empty()) continue;
    const std::string_view key = take(pair, '=');
    std::string value;
    if (!percent_decode(pair, value)) {
      error =
          "the value of '" + valid_utf8(key, 64) + "' has a '%' that two hex digits do not follow";
      return std::nullopt;
    }
    if (key == "types") {
      if (!parse_types(value, filter.types, error)) return std::nullopt;
    } else if (key == "worker") {
      filter.worker = std::move(value);
    } else {
      error = "unknown parameter '" + valid_utf8(key, 64) + "': known are types and worker";
      return std::nullopt;
    }
  }
  return filter;
}

}  // namespace smg
