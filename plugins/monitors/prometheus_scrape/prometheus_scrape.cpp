// prometheus_scrape: load reports from the gauges of an engine's /metrics, for engines without a
// load document. Which names an engine uses is configuration, so a renamed gauge needs no new
// build.
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "exposition.hpp"
#include "smg/cpp/fleet.hpp"
#include "smg/cpp/monitor.hpp"
#include "smg/cpp/options.hpp"
#include "smg/transport.h"

namespace smg::prometheus_scrape {
namespace {

// Names of one figure, the first that an engine has counts.
using Names = std::vector<std::string>;

struct Gauges {
  Names running_requests, waiting_requests, token_usage, cache_hit_rate, throughput, utilization;

  std::vector<std::string> all() const {
    std::vector<std::string> names;
    for (const Names* one : {&running_requests, &waiting_requests, &token_usage, &cache_hit_rate,
                             &throughput, &utilization}) {
      names.insert(names.end(), one->begin(), one->end());
    }
    return names;
  }
};

constexpr std::array kOptions = {
    list_option("vllm_running_requests", {.initial = R"(["vllm:num_requests_running"])",
                                          .help = "vLLM's gauges of running requests"}),
    list_option("vllm_waiting_requests", {.initial = R"(["vllm:num_requests_waiting"])",
                                          .help = "vLLM's gauges of waiting requests"}),
    list_option("vllm_token_usage",
                {.initial = R"(["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"])",
                 .help = "vLLM's gauges of KV cache usage; without one there is no report"}),
    list_option("vllm_cache_hit_rate", {.initial = R"(["vllm:gpu_prefix_cache_hit_rate"])",
                                        .help = "vLLM's gauges of the prefix cache's hit rate"}),
    list_option("sglang_running_requests",
                {.initial = R"(["sglang:num_running_reqs", "sglang_num_running_reqs"])",
                 .help = "SGLang's gauges of running requests"}),
    list_option("sglang_waiting_requests",
                {.initial = R"(["sglang:num_queue_reqs", "sglang_num_queue_reqs"])",
                 .help = "SGLang's gauges of waiting requests"}),
    list_option("sglang_token_usage",
                {.initial = R"(["sglang:token_usage", "sglang_token_usage"])",
                 .help = "SGLang's gauges of KV cache usage; without one there is no report"}),
    list_option("sglang_cache_hit_rate",
                {.initial = R"(["sglang:cache_hit_rate", "sglang_cache_hit_rate"])",
                 .help = "SGLang's gauges of the prefix cache's hit rate"}),
    list_option("sglang_gen_throughput",
                {.initial = R"(["sglang:gen_throughput", "sglang_gen_throughput"])",
                 .help = "SGLang's gauges of generated tokens per second"}),
    list_option("sglang_utilization", {.initial = R"(["sglang:utilization", "sglang_utilization"])",
                                       .help = "SGLang's gauges of utilization"}),
};

// A count as gauges give it. What is no number is 0.
int32_t whole(double value) {
  if (std::isnan(value)) return 0;
  constexpr double kLeast = std::numeric_limits<int32_t>::min();
  constexpr double kMost = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(std::fmin(std::fmax(value, kLeast), kMost));
}

class Source {
 public:
  Source(const Fleet& fleet, const Gauges& gauges, uint64_t worker)
      : fleet_(fleet), gauges_(gauges), worker_(worker), names_(gauges.all()), samples_(names_) {}
  ~Source() {
    if (call_ != 0) fleet_.cancel(call_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  void poll(uint64_t ticket, uint64_t timeout_ns, smg_poll_done done) {
    ticket_ = ticket;
    done_ = done;
    request_ = {};
    request_.struct_size = sizeof request_;
    request_.method = view("GET");
    request_.path = view("/metrics");
    request_.timeout_ns = timeout_ns;
    call_ = fleet_.call(
        worker_, request_,
        [](void* self, const smg_call_result* result) {
          static_cast<Source*>(self)->answered(*result);
        },
        this);
  }

 private:
  void answered(const smg_call_result& result) {
    call_ = 0;
    if (result.status == 0) {
      return fail(result.end == SMG_END_TIMEOUT ? SMG_NO_REPORT_TIMEOUT : SMG_NO_REPORT_CONNECTION,
                  "GET /metrics: " + std::string(text(result.detail)));
    }
    if (result.status < 200 || result.status > 299) {
      return fail(result.status == 404 ? SMG_NO_REPORT_UNSUPPORTED : SMG_NO_REPORT_ERROR,
                  "GET /metrics answered " + std::to_string(result.status));
    }
    samples_.read(text(result.body));
    const Samples* usage = samples_.first(gauges_.token_usage);
    if (usage == nullptr) {
      std::string names;
      for (const auto& name : gauges_.token_usage) names += (names.empty() ? "" : ", ") + name;
      return fail(SMG_NO_REPORT_GAUGE_MISSING,
                  "GET /metrics has no gauge of KV cache usage (" + names + "): was it renamed?");
    }
    smg_rank_load rank{};
    rank.struct_size = sizeof rank;
    rank.token_usage = usage->mean();
    if (const auto* found = samples_.first(gauges_.running_requests)) {
      rank.running_requests = whole(found->sum);
    }
    if (const auto* found = samples_.first(gauges_.waiting_requests)) {
      rank.waiting_requests = whole(found->sum);
    }
    if (const auto* found = samples_.first(gauges_.cache_hit_rate)) {
      rank.cache_hit_rate = found->mean();
    }
    if (const auto* found = samples_.first(gauges_.throughput)) {
      rank.generation_throughput = found->mean();
    }
    if (const auto* found = samples_.first(gauges_.utilization)) rank.utilization = found->mean();
    smg_load_report report{};
    report.struct_size = sizeof report;
    report.rank_count = 1;
    report.ranks = &rank;
    report.rank_stride = sizeof rank;
    done_(ticket_, &report, 0, {});
  }

  void fail(uint32_t cause, const std::string& detail) {
    done_(ticket_, nullptr, cause, view(detail));
  }

  const Fleet& fleet_;
  const Gauges& gauges_;
  const uint64_t worker_;
  const std::vector<std::string> names_;
  Exposition samples_;
  uint64_t ticket_ = 0;
  smg_poll_done done_ = nullptr;
  uint64_t call_ = 0;
  smg_call request_{};
};

class PrometheusScrape {
 public:
  explicit PrometheusScrape(Host host) : fleet_(host) {
    const Options options(host);
    const auto names = [&](std::string_view option) {
      Names list;
      for (const smg_view name : options.get_list(option)) list.emplace_back(text(name));
      return list;
    };
    vllm_ = {names("vllm_running_requests"),
             names("vllm_waiting_requests"),
             names("vllm_token_usage"),
             names("vllm_cache_hit_rate"),
             {},
             {}};
    sglang_ = {names("sglang_running_requests"), names("sglang_waiting_requests"),
               names("sglang_token_usage"),      names("sglang_cache_hit_rate"),
               names("sglang_gen_throughput"),   names("sglang_utilization")};
  }

  uint32_t match(const smg_worker& worker) {
    const std::string_view scheme = text(worker.scheme);
    if (scheme != "http" && scheme != "https") return 0;
    return gauges_of(worker) == nullptr ? 0 : 50;
  }
  std::unique_ptr<Source> attach(const smg_worker& worker) {
    return std::make_unique<Source>(fleet_, *gauges_of(worker), worker.ref);
  }

 private:
  const Gauges* gauges_of(const smg_worker& worker) const {
    const std::string_view runtime = text(worker.runtime);
    if (runtime == "vllm") return &vllm_;
    return runtime == "sglang" ? &sglang_ : nullptr;
  }

  Fleet fleet_;
  Gauges vllm_, sglang_;
};

}  // namespace
}  // namespace smg::prometheus_scrape

SMG_EXPORT_PLUGINS(smg::monitor<smg::prometheus_scrape::PrometheusScrape>(
    {.name = "prometheus_scrape",
     .version = "1.0",
     .vendor = "smg",
     .summary = "gauges of vLLM's and SGLang's /metrics",
     .options = smg::prometheus_scrape::kOptions}));
