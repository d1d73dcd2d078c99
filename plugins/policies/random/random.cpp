// random: any eligible worker, all equally likely.
#include <memory>

#include "shared/eligible_cache.hpp"
#include "smg/cpp/policy.hpp"

namespace {

class RandomPolicy {
 public:
  explicit RandomPolicy(const smg::Host& host)
      : cache_(host.raw(), host.require<smg_loop_service>(SMG_SERVICE_LOOP)) {}

  std::optional<uint32_t> select(const smg_policy_request& request, const smg_pool& pool) {
    const auto nothing_more = [](const smg_pool*, auto&) {};
    return cache_.with(&pool, nothing_more, [&](const auto& entry) -> std::optional<uint32_t> {
      if (entry.indices.empty()) return std::nullopt;
      // Multiply-shift (Lemire 2019): the bias is the size of the fleet over 2^32.
      const uint64_t place = ((request.random >> 32) * entry.indices.size()) >> 32;
      return entry.indices[place];
    });
  }

 private:
  struct Nothing {};
  smg_policies::EligibleCache<Nothing> cache_;
};

}  // namespace

SMG_EXPORT_PLUGINS(smg::policy<RandomPolicy>("random", "1.0", "smg",
                                             "any eligible worker, all equally likely"))
