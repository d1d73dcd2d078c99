#include "dp_min_token.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "smg/cpp/view.hpp"
#include "smg/worker.h"

namespace smg {
namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

uint64_t words(std::string_view text) {
  uint64_t count = 0;
  bool within = false;
  for (const char c : text) {
    const bool space = is_space(c);
    if (!space && !within) ++count;
    within = !space;
  }
  return count;
}

}  // namespace

uint64_t DpMinToken::cost(std::span<const uint32_t> tokens, std::string_view text) {
  if (!tokens.empty()) return tokens.size();
  return std::max<uint64_t>((words(text) * 13 + 9) / 10, 1);
}

void DpMinToken::on_event(const smg_event& event) noexcept {
  const std::string_view url = text(event.worker_url);
  if (event.type == SMG_EVENT_LOAD_REPORT) {
    take(url, reinterpret_cast<const smg_event_load&>(event).report);
  } else if (event.type == SMG_EVENT_WORKER_REMOVED) {
    forget(url);
  } else if (event.type == SMG_EVENT_WORKER_STATUS &&
             reinterpret_cast<const smg_event_change&>(event).after != SMG_STATUS_READY) {
    forget(url);
  }
}

std::optional<int32_t> DpMinToken::choose(std::string_view url, uint64_t cost) {
  const std::lock_guard lock(mutex_);
  const auto known = ranks_.find(url);
  if (known == ranks_.end()) return std::nullopt;
  const auto best = std::min_element(
      known->second.begin(), known->second.end(), [](const Rank& a, const Rank& b) {
        return std::tie(a.tokens, a.rank) < std::tie(b.tokens, b.rank);
      });
  best->tokens += cost;
  return best->rank;
}

void DpMinToken::take(std::string_view url, const smg_load_report& report) {
  std::vector<Rank> ranks;
  bool absolute = false;
  for (uint32_t i = 0; i < report.rank_count; ++i) {
    const auto& load = *reinterpret_cast<const smg_rank_load*>(
        reinterpret_cast<const char*>(report.ranks) + i * report.rank_stride);
    absolute = absolute || load.max_total_tokens > 0;
    const auto tokens = static_cast<uint64_t>(std::max(load.used_tokens, 0));
    const auto known = std::find_if(ranks.begin(), ranks.end(),
                                    [&](const Rank& rank) { return rank.rank == load.dp_rank; });
    if (known != ranks.end()) {
      known->tokens = tokens;
    } else {
      ranks.push_back({load.dp_rank, tokens});
    }
  }
  if (!absolute) return forget(url);
  const std::lock_guard lock(mutex_);
  ranks_.insert_or_assign(std::string(url), std::move(ranks));
}

void DpMinToken::forget(std::string_view url) {
  const std::lock_guard lock(mutex_);
  const auto known = ranks_.find(url);
  if (known != ranks_.end()) ranks_.erase(known);
}

}  // namespace smg
