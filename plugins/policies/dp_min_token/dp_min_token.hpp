// Which data-parallel rank of a worker a request should go to: the one with the fewest tokens.
//
// The tokens of each rank come from load reports, and what was sent since is added, so that a burst
// is spread. A worker is known once it reports absolute token counts, and until a report without
// them comes, or it leaves Ready, or it is removed; a poll that brings nothing changes nothing.
//
// Not a policy: it chooses a rank of a worker that a policy has chosen. Give it the bus's events
// (smg::Bus::subscribe with kEvents). On any thread, under one lock.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "smg/events.h"

namespace smg {

class DpMinToken {
 public:
  static constexpr uint64_t kEvents = SMG_EVENT_MASK(SMG_EVENT_LOAD_REPORT) |
                                      SMG_EVENT_MASK(SMG_EVENT_WORKER_STATUS) |
                                      SMG_EVENT_MASK(SMG_EVENT_WORKER_REMOVED);

  // What a request costs, in tokens, at least 1: its tokens, else 1.3 for each word of its text.
  static uint64_t cost(std::span<const uint32_t> tokens, std::string_view text);

  // [bus]
  void on_event(const smg_event& event) noexcept;

  // The rank with the fewest tokens, of equal ones the lowest; adds the cost to it. nullopt: the
  // worker is not known, so the engine may choose. `url` as smg_worker has it.
  std::optional<int32_t> choose(std::string_view url, uint64_t cost);

 private:
  struct Rank {
    int32_t rank;
    uint64_t tokens;
  };
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  void take(std::string_view url, const smg_load_report& report);
  void forget(std::string_view url);

  std::mutex mutex_;
  std::unordered_map<std::string, std::vector<Rank>, Hash, std::equal_to<>> ranks_;
};

}  // namespace smg
