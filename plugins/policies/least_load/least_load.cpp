// least_load: the worker on which a new request is expected to wait least.
#include "expected_wait.hpp"
#include "smg/cpp/eligible.hpp"
#include "smg/cpp/options.hpp"
#include "smg/cpp/policy.hpp"

namespace {

constexpr smg_option kOptions[] = {
    smg::float_option("kv_pressure_weight", {.initial = "0.15",
                                             .help = "Seconds that a half full KV cache counts for",
                                             .minimum = 0,
                                             .maximum = 1e6,
                                             .flag = "least-load-kv-pressure-weight"}),
    smg::int_option("mean_prefill_tokens",
                    {.initial = "1024",
                     .help = "Prompt tokens of a request whose tokens are not known",
                     .minimum = 1,
                     .maximum = 1e9,
                     .flag = "least-load-mean-prefill-tokens"}),
    smg::float_option("default_throughput",
                      {.initial = "2000.0",
                       .help = "Tokens per second of a worker that does not report any",
                       .minimum = 0,
                       .maximum = 1e9,
                       .exclusive_minimum = true,
                       .flag = "least-load-default-throughput"}),
    smg::int_option("max_waiting_requests",
                    {.initial = "0",
                     .help = "Leave out workers with this many waiting requests; 0 leaves out none",
                     .minimum = 0,
                     .maximum = 1e9,
                     .flag = "least-load-max-waiting-requests"}),
    smg::int_option("load_check_interval_secs",
                    {.initial = "10",
                     .help = "Reserved: loads are polled as the load monitor's interval says",
                     .minimum = 1,
                     .maximum = 4294967295}),
};

smg::ExpectedWaitTunables tunables(smg::Host host) {
  const smg::Options options(host);
  return {.kv_pressure_weight = options.get_float("kv_pressure_weight"),
          .mean_prefill_tokens = static_cast<double>(options.get_int("mean_prefill_tokens")),
          .default_throughput = options.get_float("default_throughput"),
          .max_waiting_requests = options.get_int("max_waiting_requests")};
}

class LeastLoad {
 public:
  static constexpr uint32_t kNeeds = SMG_NEEDS_LOADS;

  explicit LeastLoad(smg::Host host) : eligible_(host), wait_(tunables(host)) {}

  std::optional<uint32_t> select(const smg::Request& request, const smg::Pool& pool) {
    return eligible_.choose(
        pool, [&](const auto& entry) { return wait_.choose(request, pool, entry.indices); });
  }

 private:
  smg::EligibleCache<> eligible_;
  smg::ExpectedWait wait_;
};

}  // namespace

SMG_EXPORT_PLUGINS(
    smg::policy<LeastLoad>({.name = "least_load",
                            .version = "1.0",
                            .vendor = "smg",
                            .summary = "the worker on which a new request should wait least",
                            .options = kOptions}));
