// power_of_two: two eligible workers drawn at random, and of them the one with the shorter expected
// wait.
#include "expected_wait.hpp"
#include "smg/cpp/eligible.hpp"
#include "smg/cpp/policy.hpp"
#include "smg/cpp/random.hpp"

namespace {

constexpr smg_option kOptions[] = {
    smg::int_option("load_check_interval_secs",
                    {.initial = "10",
                     .help = "Reserved: loads are polled as the load monitor's interval says",
                     .minimum = 1,
                     .maximum = 4294967295}),
};

class PowerOfTwo {
 public:
  static constexpr uint32_t kNeeds = SMG_NEEDS_LOADS;

  explicit PowerOfTwo(smg::Host host) : eligible_(host), wait_({}, kStripes) {}

  std::optional<uint32_t> select(const smg::Request& request, const smg::Pool& pool) {
    return eligible_.choose(pool, [&](const auto& entry) -> std::optional<uint32_t> {
      const auto count = static_cast<uint32_t>(entry.indices.size());
      if (count == 0) return std::nullopt;
      if (count == 1) return entry.indices.front();
      // Distinct, and every pair equally likely.
      const uint64_t bits = request.random();
      const uint32_t first = smg::uniform(bits, count);
      const uint32_t step = 1 + smg::uniform(bits * 0x9e3779b97f4a7c15u + 1, count - 1);
      const uint32_t pair[] = {entry.indices[first], entry.indices[(first + step) % count]};
      return wait_.choose(request, pool, pair);
    });
  }

 private:
  static constexpr std::size_t kStripes = 64;

  smg::EligibleCache<> eligible_;
  smg::ExpectedWait wait_;
};

}  // namespace

SMG_EXPORT_PLUGINS(smg::policy<PowerOfTwo>(
    {.name = "power_of_two",
     .version = "1.0",
     .vendor = "smg",
     .summary = "of two workers drawn at random, the one with the shorter expected wait",
     .options = kOptions}));
