#include "overlap.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cache_aware {
namespace {

double drawn_score(const std::vector<Candidate>& candidates, double lowest, double highest,
                   double temperature, uint64_t random) {
  const auto weight = [&](double score) {
    return std::exp(((score - lowest) / (highest - lowest) - 1) / temperature);
  };
  double sum = 0;
  for (const Candidate& each : candidates) sum += weight(each.score);
  // 53 bits: a number in [0, 1).
  double left = static_cast<double>(random >> 11) * 0x1p-53 * sum;
  for (const Candidate& each : candidates) {
    left -= weight(each.score);
    if (left < 0) return each.score;
  }
  return candidates.back().score;
}

}  // namespace

void decay_scores(std::vector<Candidate>& candidates, const smg::Pool& pool, double decay,
                  double block_size, double request_blocks) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const auto backlog = [&](const Candidate& each) {
    const smg_worker_live& live = pool.live(each.index);
    if (__atomic_load_n(&live.report_valid, __ATOMIC_ACQUIRE) == 0) return kNone;
    const int64_t tokens = __atomic_load_n(&live.waiting_uncached_tokens, __ATOMIC_RELAXED);
    return static_cast<double>(std::max<int64_t>(tokens, 0));
  };
  double shortest = kNone;
  for (const Candidate& each : candidates) shortest = std::min(shortest, backlog(each));
  if (shortest == kNone) return;
  for (Candidate& each : candidates) {
    const double tokens = backlog(each);
    if (tokens == kNone || tokens <= shortest) continue;
    each.score /= 1 + decay * ((tokens - shortest) / block_size / request_blocks);
  }
}

void pick_group(const std::vector<Candidate>& candidates, double temperature, uint64_t random,
                std::vector<uint32_t>& group) {
  group.clear();
  if (candidates.empty()) return;
  const auto [lowest, highest] =
      std::minmax_element(candidates.begin(), candidates.end(),
                          [](const Candidate& a, const Candidate& b) { return a.score < b.score; });
  double score = highest->score;
  if (temperature > 0 && lowest->score < score) {
    score = drawn_score(candidates, lowest->score, score, temperature, random);
  }
  for (const Candidate& each : candidates) {
    if (each.score == score) group.push_back(each.index);
  }
}

}  // namespace cache_aware
