#include "host/admin/load_json.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>

#include "host/base/views.hpp"
#include "host/metrics/utf8.hpp"

namespace smg {
namespace {

namespace json = boost::json;

// JSON has no NaN and no infinity.
json::value number(double value) {
  return std::isfinite(value) ? json::value(value) : json::value();
}

json::object rank_json(const smg_rank_load& rank) {
  json::object out;
  out["dp_rank"] = rank.dp_rank;
  out["num_running_reqs"] = rank.running_requests;
  out["num_waiting_reqs"] = rank.waiting_requests;
  out["num_waiting_uncached_tokens"] = rank.waiting_uncached_tokens;
  out["num_total_reqs"] = rank.total_requests;
  out["num_used_tokens"] = rank.used_tokens;
  out["max_total_num_tokens"] = rank.max_total_tokens;
  out["token_usage"] = number(rank.token_usage);
  out["gen_throughput"] = number(rank.generation_throughput);
  out["cache_hit_rate"] = number(rank.cache_hit_rate);
  out["utilization"] = number(rank.utilization);
  out["max_running_requests"] = rank.max_running_requests;
  const auto has = [&](std::uint32_t bit) { return (rank.present & bit) != 0; };
  if (has(SMG_LOAD_KV_TRANSFER_LATENCY)) {
    out["kv_transfer_latency_ms"] = number(rank.kv_transfer_latency_ms);
  }
  if (has(SMG_LOAD_KV_TRANSFER_SPEED)) {
    out["kv_transfer_speed_gb_s"] = number(rank.kv_transfer_speed_gb_s);
  }
  if (has(SMG_LOAD_PREFILL_QUEUE)) out["prefill_queue_reqs"] = rank.prefill_queue_requests;
  if (has(SMG_LOAD_DECODE_QUEUE)) out["decode_queue_reqs"] = rank.decode_queue_requests;
  if (has(SMG_LOAD_DISAGG_MODE)) out["disagg_mode"] = valid_utf8(text(rank.disagg_mode));
  if (has(SMG_LOAD_MEMORY)) {
    out["memory"] = {{"weight_gb", number(rank.memory_weight_gb)},
                     {"kv_cache_gb", number(rank.memory_kv_cache_gb)},
                     {"graph_gb", number(rank.memory_graph_gb)},
                     {"token_capacity", rank.memory_token_capacity}};
  }
  if (has(SMG_LOAD_QUEUES)) {
    out["queues"] = {{"waiting", rank.queue_waiting},
                     {"grammar", rank.queue_grammar},
                     {"paused", rank.queue_paused},
                     {"retracted", rank.queue_retracted}};
  }
  return out;
}

}  // namespace

json::object load_json(const LoadReport& report) {
  json::array loads;
  for (const auto& rank : report.ranks()) loads.push_back(rank_json(rank));
  json::object out;
  out["timestamp"] = valid_utf8(report.timestamp());
  out["dp_rank_count"] = report.ranks().size();
  out["loads"] = std::move(loads);
  return out;
}

std::string fleet_load_json(const std::vector<WorkerLoad>& loads, std::string_view version,
                            std::time_t now) {
  json::array entries;
  std::int64_t running = 0, waiting = 0, total = 0;
  double usage = 0, throughput = 0, utilization = 0;
  for (const auto& [worker, report] : loads) {
    for (const auto& rank : report->ranks()) {
      running += rank.running_requests;
      waiting += rank.waiting_requests;
      total += rank.total_requests;
      usage += rank.token_usage;
      throughput += rank.generation_throughput;
      utilization += rank.utilization;
      json::object entry = rank_json(rank);
      entry["worker"] = worker->url();
      entry["worker_type"] = worker_type_name(worker->view().type);
      entries.push_back(std::move(entry));
    }
  }
  json::object out;
  out["timestamp"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
  out["version"] = "smg-" + std::string(version);
  out["dp_rank_count"] = entries.size();
  if (!entries.empty()) {
    const auto count = static_cast<double>(entries.size());
    out["aggregate"] = {{"total_running_reqs", running},
                        {"total_waiting_reqs", waiting},
                        {"total_reqs", total},
                        {"avg_token_usage", number(usage / count)},
                        {"avg_throughput", number(throughput / count)},
                        {"avg_utilization", number(utilization / count)}};
  }
  out["loads"] = std::move(entries);
  return json::serialize(out);
}

}  // namespace smg
