// random: any eligible worker, all equally likely.
#include "smg/cpp/random.hpp"
#include "smg/cpp/eligible.hpp"
#include "smg/cpp/policy.hpp"

namespace {

class Random {
 public:
  explicit Random(smg::Host host) : eligible_(host) {}

  std::optional<uint32_t> select(const smg::Request& request, const smg::Pool& pool) {
    return eligible_.choose(pool, [&](const auto& entry) -> std::optional<uint32_t> {
      if (entry.indices.empty()) return std::nullopt;
      const auto count = static_cast<uint32_t>(entry.indices.size());
      return entry.indices[smg::uniform(request.random(), count)];
    });
  }

 private:
  smg::EligibleCache<> eligible_;
};

}  // namespace

SMG_EXPORT_PLUGINS(smg::policy<Random>({.name = "random",
                                        .version = "1.0",
                                        .vendor = "smg",
                                        .summary = "any eligible worker, all equally likely"}));
