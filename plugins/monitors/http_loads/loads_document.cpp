#include "loads_document.hpp"

#include <cmath>
#include <limits>

#include "smg/cpp/view.hpp"

namespace smg::http_loads {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

bool read_int(element value, int32_t& out) {
  double number = 0;
  if (value.get_double().get(number) != simdjson::SUCCESS) return false;
  if (std::trunc(number) != number || number < std::numeric_limits<int32_t>::min() ||
      number > std::numeric_limits<int32_t>::max()) {
    return false;
  }
  out = static_cast<int32_t>(number);
  return true;
}

bool read_double(element value, double& out) {
  return value.get_double().get(out) == simdjson::SUCCESS;
}

// What is there of the keys of one object; the first wrong type makes it false for good.
class Fields {
 public:
  explicit Fields(object from) : object_(from) {}

  bool ok() const { return ok_; }

  // A value that may be missing, but not null.
  void whole(std::string_view key, int32_t& out) {
    element value;
    if (find(key, value)) ok_ = ok_ && read_int(value, out);
  }
  void real(std::string_view key, double& out) {
    element value;
    if (find(key, value)) ok_ = ok_ && read_double(value, out);
  }

  // A value that may be missing or null; true if it is there.
  bool optional(std::string_view key, int32_t& out) {
    element value;
    if (!find(key, value) || value.is_null()) return false;
    ok_ = ok_ && read_int(value, out);
    return ok_;
  }
  bool optional(std::string_view key, double& out) {
    element value;
    if (!find(key, value) || value.is_null()) return false;
    ok_ = ok_ && read_double(value, out);
    return ok_;
  }
  bool optional(std::string_view key, object& out) {
    element value;
    if (!find(key, value) || value.is_null()) return false;
    ok_ = ok_ && value.get_object().get(out) == simdjson::SUCCESS;
    return ok_;
  }
  bool optional(std::string_view key, std::string_view& out) {
    element value;
    if (!find(key, value) || value.is_null()) return false;
    ok_ = ok_ && value.get_string().get(out) == simdjson::SUCCESS;
    return ok_;
  }

 private:
  bool find(std::string_view key, element& out) const {
    return object_.at_key(key).get(out) == simdjson::SUCCESS;
  }

  object object_;
  bool ok_ = true;
};

bool read_memory(object from, smg_rank_load& rank) {
  Fields fields(from);
  fields.real("weight_gb", rank.memory_weight_gb);
  fields.real("kv_cache_gb", rank.memory_kv_cache_gb);
  fields.real("graph_gb", rank.memory_graph_gb);
  fields.whole("token_capacity", rank.memory_token_capacity);
  return fields.ok();
}

bool read_queues(object from, smg_rank_load& rank) {
  Fields fields(from);
  fields.whole("waiting", rank.queue_waiting);
  fields.whole("grammar", rank.queue_grammar);
  fields.whole("paused", rank.queue_paused);
  fields.whole("retracted", rank.queue_retracted);
  return fields.ok();
}

bool read_rank(object from, smg_rank_load& rank) {
  rank.struct_size = sizeof rank;
  Fields fields(from);
  fields.whole("dp_rank", rank.dp_rank);
  fields.whole("num_running_reqs", rank.running_requests);
  fields.whole("num_waiting_reqs", rank.waiting_requests);
  fields.whole("num_waiting_uncached_tokens", rank.waiting_uncached_tokens);
  fields.whole("num_total_reqs", rank.total_requests);
  fields.whole("num_used_tokens", rank.used_tokens);
  fields.whole("max_total_num_tokens", rank.max_total_tokens);
  fields.whole("max_running_requests", rank.max_running_requests);
  fields.real("token_usage", rank.token_usage);
  fields.real("gen_throughput", rank.generation_throughput);
  fields.real("cache_hit_rate", rank.cache_hit_rate);
  fields.real("utilization", rank.utilization);
  const auto note = [&](bool present, uint32_t bit) {
    if (present) rank.present |= bit;
  };
  note(fields.optional("kv_transfer_latency_ms", rank.kv_transfer_latency_ms),
       SMG_LOAD_KV_TRANSFER_LATENCY);
  note(fields.optional("kv_transfer_speed_gb_s", rank.kv_transfer_speed_gb_s),
       SMG_LOAD_KV_TRANSFER_SPEED);
  note(fields.optional("prefill_queue_reqs", rank.prefill_queue_requests), SMG_LOAD_PREFILL_QUEUE);
  note(fields.optional("decode_queue_reqs", rank.decode_queue_requests), SMG_LOAD_DECODE_QUEUE);
  std::string_view mode;
  if (fields.optional("disagg_mode", mode)) {
    rank.disagg_mode = view(mode);
    rank.present |= SMG_LOAD_DISAGG_MODE;
  }
  object part;
  if (fields.optional("memory", part)) {
    if (!read_memory(part, rank)) return false;
    rank.present |= SMG_LOAD_MEMORY;
  }
  if (fields.optional("queues", part)) {
    if (!read_queues(part, rank)) return false;
    rank.present |= SMG_LOAD_QUEUES;
  }
  return fields.ok();
}

}  // namespace

bool LoadsDocument::read(std::string_view json) {
  ranks_.clear();
  report_ = {};
  report_.struct_size = sizeof report_;
  report_.rank_stride = sizeof(smg_rank_load);
  object root;
  if (parser_.parse(json.data(), json.size()).get_object().get(root) != simdjson::SUCCESS) {
    return false;
  }
  Fields fields(root);
  std::string_view timestamp;
  int32_t count = 0;
  if (fields.optional("timestamp", timestamp)) report_.timestamp = view(timestamp);
  fields.whole("dp_rank_count", count);
  simdjson::dom::array loads;
  if (!fields.ok() || root.at_key("loads").get_array().get(loads) != simdjson::SUCCESS) {
    return false;
  }
  for (const element item : loads) {
    object rank;
    if (item.get_object().get(rank) != simdjson::SUCCESS) return false;
    if (!read_rank(rank, ranks_.emplace_back())) return false;
  }
  report_.ranks = ranks_.data();
  report_.rank_count = static_cast<uint32_t>(ranks_.size());
  return true;
}

}  // namespace smg::http_loads
