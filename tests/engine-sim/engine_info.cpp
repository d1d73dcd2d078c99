// What an engine says of itself: models, server information, loads and metrics.
#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <ctime>

#include "engine.hpp"

namespace smg::sim {

namespace {

namespace json = boost::json;

std::string timestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 40> text;
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

double number(const json::object& rank, std::string_view key) {
  const json::value* value = rank.if_contains(key);
  return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

std::string shown(double value) {
  std::array<char, 32> digits;
  const auto [end, code] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), end};
}

struct Family {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  std::string_view field;  // of a rank's load
};

constexpr Family kVllm[] = {
    {"vllm:num_requests_running", "gauge", "Number of requests in model execution batches.",
     "num_running_reqs"},
    {"vllm:num_requests_waiting", "gauge", "Number of requests waiting to be processed.",
     "num_waiting_reqs"},
    {"vllm:kv_cache_usage_perc", "gauge", "KV-cache usage. 1 means 100 percent usage.",
     "token_usage"},
    {"vllm:gpu_prefix_cache_hit_rate", "gauge", "Prefix cache block hit rate.", "cache_hit_rate"},
};
constexpr Family kSglang[] = {
    {"sglang:num_running_reqs", "gauge", "The number of running requests.", "num_running_reqs"},
    {"sglang:num_queue_reqs", "gauge", "The number of requests in the waiting queue.",
     "num_waiting_reqs"},
    {"sglang:num_used_tokens", "gauge", "The number of used tokens.", "num_used_tokens"},
    {"sglang:token_usage", "gauge", "The token usage.", "token_usage"},
    {"sglang:gen_throughput", "gauge", "The generation throughput (token/s).", "gen_throughput"},
    {"sglang:cache_hit_rate", "gauge", "The prefix cache hit rate.", "cache_hit_rate"},
    {"sglang:utilization", "gauge", "The utilization.", "utilization"},
};

}  // namespace

std::string Engine::models_json() const {
  return json::serialize(json::object{
      {"object", "list"},
      {"data", json::array{json::object{
                   {"id", settings_.model},
                   {"object", "model"},
                   {"created", 1700000000},
                   {"owned_by", settings_.dialect == Dialect::Vllm ? "vllm" : "sglang"},
                   {"root", settings_.model},
                   {"parent", nullptr},
                   {"max_model_len",
                    std::uint64_t{settings_.batch.kv_blocks} * settings_.batch.block_size}}}}});
}

std::string Engine::server_info_json() const {
  return json::serialize(json::object{
      {"model_path", settings_.model},
      {"served_model_name", settings_.model},
      {"tp_size", 1},
      {"dp_size", report_.empty() ? std::uint64_t{1} : std::uint64_t{report_.size()}},
      {"pp_size", 1},
      {"load_balance_method", "round_robin"},
      {"disaggregation_mode", "null"},
      {"version", "0.5.3"},
      {"is_embedding", false},
      {"context_length", std::uint64_t{settings_.batch.kv_blocks} * settings_.batch.block_size},
      {"max_total_tokens", std::uint64_t{settings_.batch.kv_blocks} * settings_.batch.block_size},
      {"max_running_requests", settings_.batch.max_running}});
}

std::string Engine::model_info_json() const {
  return json::serialize(json::object{{"model_path", settings_.model},
                                      {"tokenizer_path", settings_.model},
                                      {"is_generation", true},
                                      {"has_image_understanding", false},
                                      {"has_audio_understanding", false},
                                      {"model_type", "llama"},
                                      {"architectures", json::array{"LlamaForCausalLM"}}});
}

double Engine::throughput() {
  const double now = Loop::monotonic_ms();
  if (now - sampled_at_ms_ >= 200) {
    const std::uint64_t tokens = model_.generated_tokens() + paced_tokens_;
    throughput_ = static_cast<double>(tokens - sampled_tokens_) * 1e3 / (now - sampled_at_ms_);
    sampled_at_ms_ = now;
    sampled_tokens_ = tokens;
  }
  return throughput_;
}

std::vector<json::object> Engine::rank_loads() {
  const ModelSettings& batch = settings_.batch;
  const std::uint64_t running = model_.running() + paced_;
  const std::uint64_t waiting = model_.waiting();
  const json::object measured{
      {"dp_rank", 0},
      {"num_running_reqs", running},
      {"num_waiting_reqs", waiting},
      {"num_waiting_uncached_tokens", model_.waiting_uncached_tokens()},
      {"num_total_reqs", running + waiting},
      {"num_used_tokens", model_.used_blocks() * batch.block_size},
      {"max_total_num_tokens", std::uint64_t{batch.kv_blocks} * batch.block_size},
      {"token_usage", model_.token_usage()},
      {"gen_throughput", throughput()},
      {"cache_hit_rate", model_.hit_rate()},
      {"utilization", static_cast<double>(running) / std::max(1u, batch.max_running)},
      {"max_running_requests", batch.max_running}};
  std::vector<json::object> ranks;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, report_.size()); ++i) {
    json::object rank = measured;
    rank["dp_rank"] = i;
    if (!report_.empty()) {
      for (const auto& [key, value] : report_[i].get_object()) rank[key] = value;
    }
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

std::string Engine::loads_json(std::string_view query) {
  const std::size_t at = query.find("include=");
  const std::string_view include =
      at == std::string_view::npos ? "memory,queues" : query.substr(at + 8);
  json::array loads;
  double running = 0;
  double waiting = 0;
  for (json::object& rank : rank_loads()) {
    running += number(rank, "num_running_reqs");
    waiting += number(rank, "num_waiting_reqs");
    if (include.find("memory") != std::string_view::npos && !rank.contains("memory")) {
      const json::value capacity = rank["max_total_num_tokens"];
      rank["memory"] = {{"weight_gb", 16.0},
                        {"kv_cache_gb", 40.0},
                        {"graph_gb", 1.0},
                        {"token_capacity", capacity}};
    }
    if (include.find("queues") != std::string_view::npos && !rank.contains("queues")) {
      const json::value queued = rank["num_waiting_reqs"];
      rank["queues"] = {{"waiting", queued}, {"grammar", 0}, {"paused", 0}, {"retracted", 0}};
    }
    loads.push_back(std::move(rank));
  }
  const std::size_t ranks = loads.size();
  return json::serialize(json::object{
      {"timestamp", timestamp()},
      {"version", settings_.dialect == Dialect::Vllm ? "0.11.0" : "0.5.3"},
      {"dp_rank_count", ranks},
      {"loads", std::move(loads)},
      {"aggregate", json::object{{"total_running_reqs", static_cast<std::int64_t>(running)},
                                 {"total_waiting_reqs", static_cast<std::int64_t>(waiting)}}}});
}

std::string Engine::metrics_text() {
  const bool vllm = settings_.dialect == Dialect::Vllm;
  const std::vector<json::object> ranks = rank_loads();
  std::string out;
  const auto begin = [&out](std::string_view name, std::string_view type, std::string_view help) {
    out.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
    out.append(name).append(" ").append(type).append("\n");
  };
  const auto labels = [&, this](std::size_t rank) {
    std::string text = vllm ? "{engine=\"" + std::to_string(rank) + "\",model_name=\""
                            : "{dp_rank=\"" + std::to_string(rank) + "\",model_name=\"";
    for (const char c : settings_.model) {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    return text + "\"}";
  };
  const Family* first = vllm ? std::begin(kVllm) : std::begin(kSglang);
  const Family* last = vllm ? std::end(kVllm) : std::end(kSglang);
  for (const Family* family = first; family != last; ++family) {
    begin(family->name, family->type, family->help);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      out.append(family->name).append(labels(rank)).append(" ");
      out.append(shown(number(ranks[rank], family->field))).append("\n");
    }
  }
  const auto counter = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    const std::string full = std::string(vllm ? "vllm:" : "sglang:") + std::string(name);
    begin(full, "counter", help);
    out.append(full).append(labels(0)).append(" ").append(shown(static_cast<double>(value)));
    out.append("\n");
  };
  counter("prompt_tokens_total", "Number of prefill tokens processed.", prompt_tokens_);
  counter("generation_tokens_total", "Number of generation tokens processed.",
          model_.generated_tokens() + paced_tokens_);
  if (vllm) {
    counter("prefix_cache_queries_total", "Prefix cache queries, in tokens.",
            model_.queried_tokens());
    counter("prefix_cache_hits_total", "Prefix cache hits, in tokens.", model_.hit_tokens());
    counter("num_preemptions_total", "Number of preemptions.", model_.preemptions());
  } else {
    counter("num_requests_total", "Number of requests processed.", generations_);
  }
  return out;
}

}  // namespace smg::sim
