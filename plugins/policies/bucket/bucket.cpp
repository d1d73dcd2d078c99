// bucket: prefill workers by the size of the prompt, so that short prompts do not wait behind long
// ones. Pools of other workers have no buckets: there any eligible worker is equally likely.
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "buckets.hpp"
#include "smg/cpp/clock.hpp"
#include "smg/cpp/eligible.hpp"
#include "smg/cpp/log.hpp"
#include "smg/cpp/loop.hpp"
#include "smg/cpp/options.hpp"
#include "smg/cpp/policy.hpp"
#include "smg/cpp/random.hpp"

namespace {

constexpr smg_option kOptions[] = {
    smg::int_option("balance_abs_threshold",
                    {.initial = "64",
                     .help = "Sizes routed to two workers that may differ by as much are even",
                     .minimum = 0,
                     .maximum = 9007199254740992,
                     .flag = "balance-abs-threshold,spill-abs-threshold",
                     .label_default = "32"}),
    smg::float_option("balance_rel_threshold",
                      {.initial = "1.5",
                       .help = "Sizes routed to two workers that differ by this factor are even",
                       .minimum = 1,
                       .maximum = 1e9,
                       .flag = "balance-rel-threshold,spill-rel-threshold",
                       .label_default = "1.0001"}),
    smg::int_option("bucket_adjust_interval_secs",
                    {.initial = "5",
                     .help = "Seconds between two adjustments of the bounds, and for which a "
                             "request is remembered",
                     .minimum = 1,
                     .maximum = 4294967295}),
};

bucket::Tunables tunables(const smg::Options& options) {
  return {.balance_abs = static_cast<uint64_t>(options.get_int("balance_abs_threshold")),
          .balance_rel = static_cast<float>(options.get_float("balance_rel_threshold")),
          .window = static_cast<uint64_t>(options.get_int("bucket_adjust_interval_secs")) *
                    1'000'000'000};
}

// Tokens; without them, characters.
uint64_t size_of(const smg::Request& request) {
  if (!request.tokens().empty()) return request.tokens().size();
  const std::string_view text = request.text();
  return static_cast<uint64_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0u) != 0x80u;  // no continuation of UTF-8
  }));
}

class Bucket {
 public:
  static constexpr uint32_t kNeeds = SMG_NEEDS_TEXT | SMG_NEEDS_TOKENS;

  explicit Bucket(smg::Host host)
      : log_(host),
        clock_(host),
        loop_(host),
        tunables_(tunables(smg::Options(host))),
        eligible_(host) {
    loop_.set(adjust_, clock_.now() + tunables_.window);
  }
  ~Bucket() { loop_.clear(adjust_); }

  std::optional<uint32_t> select(const smg::Request& request, const smg::Pool& pool) {
    const uint64_t size = size_of(request);
    return eligible_.choose(pool, [&](auto& entry) -> std::optional<uint32_t> {
      if (entry.indices.empty()) return std::nullopt;
      std::shared_ptr<bucket::Buckets>& buckets = entry.extra;
      if (buckets == nullptr && pool.worker(0).type == SMG_WORKER_PREFILL) {
        buckets = find(pool.generation());
      }
      if (buckets == nullptr) {
        const auto count = static_cast<uint32_t>(entry.indices.size());
        return entry.indices[smg::uniform(request.random(), count)];
      }
      return buckets->choose(pool, entry.indices, size, request.now(), request.random());
    });
  }

  void pool_changed(const smg_pool* before, const smg_pool* after) {
    std::shared_ptr<bucket::Buckets> buckets;
    {
      const std::lock_guard lock(mutex_);
      if (before != nullptr) {
        if (auto known = by_generation_.extract(before->generation)) buckets = known.mapped();
      }
    }
    if (after == nullptr || after->count == 0) return;
    if (!all_prefill(*after)) return warn(*after);
    if (buckets == nullptr) buckets = std::make_shared<bucket::Buckets>(tunables_);
    buckets->set_members(*after);
    const std::lock_guard lock(mutex_);
    by_generation_[after->generation] = std::move(buckets);
  }

 private:
  static bool all_prefill(const smg_pool& pool) {
    return std::all_of(pool.workers, pool.workers + pool.count,
                       [](const smg_worker* worker) { return worker->type == SMG_WORKER_PREFILL; });
  }

  void warn(const smg_pool& pool) {
    if (std::exchange(warned_, true)) return;
    log_.warn("model " + std::string(smg::text(pool.model)) +
              " has workers that are not for prefill: bucket chooses at random among them");
  }

  std::shared_ptr<bucket::Buckets> find(uint64_t generation) const {
    const std::lock_guard lock(mutex_);
    const auto known = by_generation_.find(generation);
    return known == by_generation_.end() ? nullptr : known->second;
  }

  void adjust() noexcept {
    const uint64_t now = clock_.now();
    std::vector<std::shared_ptr<bucket::Buckets>> all;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [generation, buckets] : by_generation_) all.push_back(buckets);
    }
    for (const auto& buckets : all) buckets->adjust(now);
    loop_.set(adjust_, now + tunables_.window);
  }

  smg::Log log_;
  smg::Clock clock_;
  smg::Loop loop_;
  const bucket::Tunables tunables_;
  bool warned_ = false;
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<bucket::Buckets>> by_generation_;
  smg::EligibleCache<std::shared_ptr<bucket::Buckets>> eligible_;
  smg::Timer<&Bucket::adjust> adjust_{*this};
};

}  // namespace

SMG_EXPORT_PLUGINS(smg::policy<Bucket>({.name = "bucket",
                                        .version = "1.0",
                                        .vendor = "smg",
                                        .summary = "prefill workers by the size of the prompt",
                                        .options = kOptions}));
