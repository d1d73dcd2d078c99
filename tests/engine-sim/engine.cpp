#include "engine.hpp"

#include <array>
#include <sstream>

namespace smg::sim {
namespace {

// The last four are states of the engine, the others happen to requests.
constexpr std::string_view kKinds =
    "reset_before_head reset_mid close_mid hang slow bytewise status_500 status_503 early_401 "
    "wrong_length both_lengths "
    "bad_status_line refuse unhealthy renamed_metrics empty_loads no_loads";

}  // namespace

std::string_view fault_kinds() {
  return kKinds;
}

bool is_fault(std::string_view kind) {
  std::istringstream words{std::string(kKinds)};
  for (std::string word; words >> word;) {
    if (word == kind) return true;
  }
  return false;
}

Fault Engine::next_fault() {
  for (auto at = faults.begin(); at != faults.end(); ++at) {
    static constexpr std::array<std::string_view, 5> kStates = {
        "refuse", "unhealthy", "renamed_metrics", "empty_loads", "no_loads"};
    bool state = false;
    for (const auto kind : kStates) state = state || at->kind == kind;
    if (state) continue;
    const Fault fault = *at;
    if (at->count > 0 && --at->count == 0) faults.erase(at);
    return fault;
  }
  return {};
}

bool Engine::has_fault(std::string_view kind) const {
  for (const auto& fault : faults) {
    if (fault.kind == kind) return true;
  }
  return false;
}

std::string Engine::models_json() const {
  const char* owner = dialect == Dialect::vllm ? "vllm" : "sglang";
  return R"({"object":"list","data":[{"id":")" + model_name +
         R"(","object":"model","created":1700000000,"owned_by":")" + owner + R"(","root":")" +
         model_name + R"(","max_model_len":131072}]})";
}

std::string Engine::loads_json(std::string_view timestamp) const {
  const auto& s = model.settings();
  std::ostringstream out;
  out << R"({"timestamp":")" << timestamp << R"(","version":"sim","dp_rank_count":1,"loads":[)";
  if (!has_fault("empty_loads")) {
    out << R"({"dp_rank":0,"num_running_reqs":)" << model.running() << R"(,"num_waiting_reqs":)"
        << model.waiting() << R"(,"num_waiting_uncached_tokens":)" << model.waiting_tokens()
        << R"(,"num_total_reqs":)" << model.running() + model.waiting() << R"(,"num_used_tokens":)"
        << std::uint64_t{model.used_blocks()} * s.block_size << R"(,"max_total_num_tokens":)"
        << std::uint64_t{s.kv_blocks} * s.block_size << R"(,"token_usage":)" << model.token_usage()
        << R"(,"gen_throughput":)" << model.running() * 1e6 / static_cast<double>(model.step())
        << R"(,"cache_hit_rate":)" << model.hit_rate() << R"(,"utilization":)"
        << model.token_usage() << R"(,"max_running_requests":)" << s.max_running << "}";
  }
  out << "]}";
  return out.str();
}

std::string Engine::metrics_text() const {
  std::ostringstream out;
  const bool renamed = has_fault("renamed_metrics");
  const auto gauge = [&](std::string name, double value) {
    if (renamed) name += "_v2";
    out << "# HELP " << name << " simulated\n# TYPE " << name << " gauge\n"
        << name << "{model_name=\"" << model_name << "\"} " << value << "\n";
  };
  if (dialect == Dialect::vllm) {
    gauge("vllm:num_requests_running", model.running());
    gauge("vllm:num_requests_waiting", model.waiting());
    gauge("vllm:kv_cache_usage_perc", model.token_usage());
    gauge("vllm:gpu_prefix_cache_hit_rate", model.hit_rate());
  } else {
    gauge("sglang:num_running_reqs", model.running());
    gauge("sglang:num_queue_reqs", model.waiting());
    gauge("sglang:token_usage", model.token_usage());
    gauge("sglang:cache_hit_rate", model.hit_rate());
    gauge("sglang:gen_throughput", model.running() * 1e6 / static_cast<double>(model.step()));
  }
  return out.str();
}

}  // namespace smg::sim
