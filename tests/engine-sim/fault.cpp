#include "fault.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <stdexcept>

namespace smg::sim {

namespace {

namespace json = boost::json;

struct Kind {
  std::string_view name;
  std::string_view path;  // what it applies to by default: a path, "POST" or "state"
};

constexpr std::array<Kind, 34> kKinds{{
    {"refuse", "state"},
    {"idle_close", "state"},
    {"reset_before_head", "POST"},
    {"reset_after_head", "POST"},
    {"reset_mid", "POST"},
    {"close_mid", "POST"},
    {"bad_chunk", "POST"},
    {"hang", "POST"},
    {"delay", "POST"},
    {"slow", "POST"},
    {"slow_tokens", "POST"},
    {"bytewise", "POST"},
    {"wrong_length", "POST"},
    {"no_framing", "POST"},
    {"both_lengths", "POST"},
    {"two_lengths", "POST"},
    {"bad_status_line", "POST"},
    {"informational", "POST"},
    {"status", "POST"},
    {"status_500", "POST"},
    {"status_503", "POST"},
    {"early", "POST"},
    {"early_401", "POST"},
    {"close_after", "POST"},
    {"body", "POST"},
    {"unhealthy", "/health"},
    {"renamed_metrics", "/metrics"},
    {"late_metrics", "/metrics"},
    {"metrics_status", "/metrics"},
    {"no_loads", "/v1/loads"},
    {"loads_status", "/v1/loads"},
    {"empty_loads", "/v1/loads"},
    {"garbage_loads", "/v1/loads"},
    {"late_loads", "/v1/loads"},
}};

const Kind* find_kind(std::string_view name) {
  const auto* found = std::find_if(kKinds.begin(), kKinds.end(),
                                   [name](const Kind& kind) { return kind.name == name; });
  return found == kKinds.end() ? nullptr : found;
}

std::int64_t number(const json::object& fields, std::string_view key, std::int64_t otherwise) {
  const json::value* value = fields.if_contains(key);
  if (value == nullptr) return otherwise;
  if (value->is_int64()) return value->get_int64();
  if (value->is_double()) return static_cast<std::int64_t>(value->get_double());
  throw std::invalid_argument("'" + std::string(key) + "' must be a number");
}

bool flag(const json::object& fields, std::string_view key, bool otherwise) {
  const json::value* value = fields.if_contains(key);
  if (value == nullptr) return otherwise;
  if (!value->is_bool()) throw std::invalid_argument("'" + std::string(key) + "' must be a bool");
  return value->get_bool();
}

std::string text(const json::object& fields, std::string_view key, std::string_view otherwise) {
  const json::value* value = fields.if_contains(key);
  if (value == nullptr) return std::string(otherwise);
  if (!value->is_string()) {
    throw std::invalid_argument("'" + std::string(key) + "' must be a string");
  }
  return std::string(value->get_string());
}

int status(const json::object& fields, int otherwise, int minimum, int maximum) {
  const std::int64_t value = number(fields, "status", otherwise);
  if (value < minimum || value > maximum) {
    throw std::invalid_argument("'status' is " + std::to_string(value) + ", must be " +
                                std::to_string(minimum) + " to " + std::to_string(maximum));
  }
  return static_cast<int>(value);
}

// The answer goes out in pieces of so many bytes.
void pace(Effects& effects, std::int64_t bytes_per_s) {
  if (bytes_per_s < 1) throw std::invalid_argument("'bytes_per_s' must be 1 or more");
  if (bytes_per_s < 100) {
    effects.write_bytes = 1;
    effects.write_interval_ms = 1000 / bytes_per_s;
  } else {
    effects.write_bytes = static_cast<std::size_t>(bytes_per_s / 100);
    effects.write_interval_ms = 10;
  }
}

}  // namespace

Fault Fault::parse(const json::object& fields) {
  Fault fault;
  fault.kind = text(fields, "kind", text(fields, "type", ""));
  if (find_kind(fault.kind) == nullptr) {
    std::string names;
    for (const Kind& kind : kKinds) names.append(names.empty() ? "" : ", ").append(kind.name);
    throw std::invalid_argument("kind '" + fault.kind +
                                "' is unknown, must be none or one of: " + names);
  }
  fault.path = text(fields, "path", "");
  fault.count = number(fields, "count", -1);
  fault.reused_only = flag(fields, "reused_only", false);
  fault.fields = fields;
  Effects check;
  fault.apply(check);
  return fault;
}

bool Fault::is_state() const {
  return find_kind(kind)->path == "state";
}

void Fault::apply(Effects& effects) const {
  const auto after = [this] {
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, number(fields, "tokens", number(fields, "after", 0))));
  };
  if (kind == "reset_before_head") effects.reset_before_head = true;
  if (kind == "reset_after_head") effects.reset_after_head = true;
  if (kind == "reset_mid") effects.cut = Cut::Reset, effects.cut_after = after();
  if (kind == "close_mid") effects.cut = Cut::Close, effects.cut_after = after();
  if (kind == "bad_chunk") effects.cut = Cut::BadChunk, effects.cut_after = after();
  if (kind == "hang") {
    effects.hang = true;
    effects.hang_reads_body = flag(fields, "read", true);
  }
  if (kind == "delay" || kind == "late_metrics" || kind == "late_loads") {
    effects.delay_ms = number(fields, "ms", 1000);
  }
  if (kind == "slow") pace(effects, number(fields, "bytes_per_s", 1000));
  if (kind == "slow_tokens") {
    effects.interval_factor = static_cast<double>(number(fields, "factor", 20));
  }
  if (kind == "bytewise") {
    effects.write_bytes = 1;
    effects.write_interval_ms = number(fields, "ms", 0);
  }
  if (kind == "wrong_length") {
    effects.length_error = number(fields, "by", 100);
    if (effects.length_error == 0) throw std::invalid_argument("'by' must not be 0");
  }
  if (kind == "no_framing") effects.no_framing = true;
  if (kind == "both_lengths") effects.length_and_chunked = true;
  if (kind == "two_lengths") effects.two_lengths = true;
  if (kind == "bad_status_line") effects.status_line = text(fields, "text", "HTTP/1.1 banana");
  if (kind == "informational") {
    effects.informational = status(fields, 100, 100, 199);
    effects.informational_count = number(fields, "times", 1);
  }
  if (kind == "status" || kind == "metrics_status" || kind == "loads_status") {
    effects.status = status(fields, 500, 200, 999);
  }
  if (kind == "status_500") effects.status = 500;
  if (kind == "status_503") effects.status = 503;
  if (kind == "unhealthy") effects.status = status(fields, 503, 200, 999);
  if (kind == "no_loads") effects.status = 404;
  if (kind == "early" || kind == "early_401") {
    effects.early_status = status(fields, kind == "early" ? 413 : 401, 400, 599);
    effects.early_abrupt = flag(fields, "abrupt", false);
  }
  if (kind == "close_after") {
    effects.close_after = true;
    effects.announce_close = flag(fields, "announce", true);
  }
  if (kind == "body") effects.body = text(fields, "text", "");
  if (kind == "empty_loads") {
    effects.body = R"({"timestamp":"","dp_rank_count":0,"loads":[]})";
  }
  if (kind == "garbage_loads") effects.body = text(fields, "text", "{\"loads\": [{]");
  if (kind == "renamed_metrics") {
    effects.replace.emplace_back(text(fields, "from", "usage"), text(fields, "to", "usage_v2"));
    if (effects.replace.back().first.empty()) {
      throw std::invalid_argument("'from' must not be empty");
    }
  }
  if (kind == "idle_close" && number(fields, "ms", 0) < 0) {
    throw std::invalid_argument("'ms' must be 0 or more");
  }
}

void FaultTable::clear(std::string_view kind) {
  std::erase_if(faults_, [kind](const Fault& fault) { return fault.kind == kind; });
}

std::unique_ptr<Effects> FaultTable::take(std::string_view method, std::string_view path,
                                          bool reused) {
  std::unique_ptr<Effects> effects;
  for (Fault& fault : faults_) {
    if (fault.is_state() || (fault.reused_only && !reused)) continue;
    const std::string_view about = find_kind(fault.kind)->path;
    bool meets = false;
    if (!fault.path.empty()) {
      meets = fault.path == "*" || path.starts_with(fault.path);
    } else {
      meets = about == "POST" ? method == "POST" : path == about;
    }
    if (!meets) continue;
    if (effects == nullptr) effects = std::make_unique<Effects>();
    fault.apply(*effects);
    if (fault.count > 0) --fault.count;
  }
  std::erase_if(faults_, [](const Fault& fault) { return fault.count == 0; });
  return effects;
}

}  // namespace smg::sim
