// my_plugin: the eligible worker with the fewest requests of this gateway in flight, weighed by the
// worker's cost. smg/cpp/policy.hpp lists what else the class may have.
#include "smg/cpp/least.hpp"
#include "smg/cpp/options.hpp"
#include "smg/cpp/policy.hpp"

namespace {

constexpr smg_option kOptions[] = {
    smg::bool_option("use_cost",
                     {.initial = "true", .help = "weigh a worker's load with its cost"}),
};

class Policy {
 public:
  explicit Policy(smg::Host host) : use_cost_(smg::Options(host).get_bool("use_cost")) {}

  // On every loop thread at once: it must not block, and changes nothing without an atomic.
  std::optional<uint32_t> select(const smg::Request& request, const smg::Pool& pool) {
    smg::Least<double> least(request.random());
    for (uint32_t i = 0; i < pool.size(); ++i) {
      if (!pool.eligible(i)) continue;
      const double load = pool.in_flight(i) + 1.0;
      least.offer(i, use_cost_ ? load * pool.worker(i).cost : load);
    }
    if (!least.any()) return std::nullopt;
    return least.index();
  }

 private:
  const bool use_cost_;
};

}  // namespace

SMG_EXPORT_PLUGINS(smg::policy<Policy>({.name = "my_plugin",
                                        .version = "1.0",
                                        .vendor = "me",
                                        .summary = "the eligible worker with the least to do",
                                        .options = kOptions}));
