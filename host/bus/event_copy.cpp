#include "host/bus/event_copy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <vector>

#include "host/base/plausible.hpp"

namespace smg {
namespace {

// One piece of memory that takes copies until it is full. Without memory it only measures.
class Block {
 public:
  explicit Block(std::byte* memory) : memory_(memory) {}

  std::size_t size() const { return used_; }

  void* add(const void* source, std::size_t size) {
    constexpr std::size_t kMask = alignof(std::max_align_t) - 1;
    used_ = (used_ + kMask) & ~kMask;
    std::byte* const place = memory_ == nullptr ? nullptr : memory_ + used_;
    if (place != nullptr) std::memcpy(place, source, size);
    used_ += size;
    return place;
  }

  // Makes `data` point to a copy of what it points to.
  template <typename T>
  void own(const T*& data, std::uint64_t count) {
    const void* const source = data;
    data = nullptr;
    if (source == nullptr || count == 0) return;
    data = static_cast<const T*>(add(source, static_cast<std::size_t>(count) * sizeof(T)));
  }
  void own(smg_view& view) { own(view.data, view.size); }

 private:
  std::byte* memory_;
  std::size_t used_ = 0;
};

// What both sides know of a struct that is `size` bytes long at its source; the rest is zero.
template <typename T>
T known_part(const void* source, std::uint64_t size) {
  T result{};
  std::memcpy(static_cast<void*>(&result), source,
              std::min(sizeof(T), static_cast<std::size_t>(size)));
  result.struct_size = sizeof(T);
  return result;
}

void own_payload(smg_event& /*event*/, Block& /*block*/) {}

void own_payload(smg_event_change& change, Block& block) {
  block.own(change.subject);
  block.own(change.text);
}

void own_payload(smg_event_load& load, Block& block) {
  smg_load_report& report = load.report;
  block.own(load.source);
  block.own(report.timestamp);
  std::vector<smg_rank_load> ranks;
  if (report.ranks != nullptr && report.rank_stride >= sizeof(std::uint32_t)) {
    const auto* source = reinterpret_cast<const std::byte*>(report.ranks);
    for (std::uint32_t i = 0; i < report.rank_count; ++i, source += report.rank_stride) {
      std::uint32_t size = 0;
      std::memcpy(&size, source, sizeof(size));
      ranks.push_back(
          known_part<smg_rank_load>(source, std::min<std::uint64_t>(size, report.rank_stride)));
      block.own(ranks.back().disagg_mode);
    }
  }
  report.struct_size = sizeof(report);
  report.rank_count = static_cast<std::uint32_t>(ranks.size());
  report.rank_stride = sizeof(smg_rank_load);
  report.ranks = ranks.data();
  block.own(report.ranks, report.rank_count);
}

void own_payload(smg_event_kv& kv, Block& block) {
  block.own(kv.blocks, kv.block_count);
  block.own(kv.tokens, kv.token_count);
}

smg_event& head_of(smg_event& event) {
  return event;
}
template <typename T>
smg_event& head_of(T& payload) {
  return payload.event;
}

template <typename T>
T known_event(const smg_event& source) {
  T result{};
  std::memcpy(static_cast<void*>(&result), &source,
              std::min<std::size_t>(sizeof(T), source.struct_size));
  head_of(result).struct_size = sizeof(T);
  return result;
}

template <typename T>
void fill(const smg_event& source, Block& block) {
  T event = known_event<T>(source);
  void* const place = block.add(&event, sizeof(event));
  block.own(head_of(event).worker_url);
  own_payload(event, block);
  if (place != nullptr) std::memcpy(place, &event, sizeof(event));
}

bool fill_by_type(const smg_event& source, Block& block) {
  switch (source.type) {
    case SMG_EVENT_WORKER_ADDED:
    case SMG_EVENT_WORKER_UPDATED:
    case SMG_EVENT_WORKER_REMOVED:
      fill<smg_event>(source, block);
      return true;
    case SMG_EVENT_WORKER_STATUS:
    case SMG_EVENT_NO_REPORT:
    case SMG_EVENT_VERDICT_CHANGED:
    case SMG_EVENT_LIVENESS_CHANGED:
    case SMG_EVENT_PLUGIN_STATE:
    case SMG_EVENT_CONFIG_APPLIED:
      fill<smg_event_change>(source, block);
      return true;
    case SMG_EVENT_LOAD_REPORT:
      fill<smg_event_load>(source, block);
      return true;
    case SMG_EVENT_KV_BLOCKS:
      fill<smg_event_kv>(source, block);
      return true;
    default:
      return false;
  }
}

bool plausible_payload(const smg_event_change& change) {
  return plausible(change.subject) && plausible(change.text);
}
bool plausible_payload(const smg_event_load& load) {
  if (!plausible(load.report) || !plausible(load.source)) return false;
  std::uint64_t modes = 0;
  const auto* source = reinterpret_cast<const std::byte*>(load.report.ranks);
  for (std::uint32_t i = 0; i < load.report.rank_count; ++i, source += load.report.rank_stride) {
    std::uint32_t size = 0;
    std::memcpy(&size, source, sizeof(size));
    const auto rank =
        known_part<smg_rank_load>(source, std::min<std::uint64_t>(size, load.report.rank_stride));
    modes += rank.disagg_mode.size;
    if (!plausible(rank.disagg_mode) || modes > kLongestText) return false;
  }
  return true;
}
bool plausible_payload(const smg_event_kv& kv) {
  return kv.block_count <= kMostItems && kv.token_count <= kMostItems;
}

template <typename T>
bool plausible_as(const smg_event& source) {
  return plausible_payload(known_event<T>(source));
}

}  // namespace

bool plausible(const smg_event& event) {
  if (event.struct_size < sizeof(smg_event) || !plausible(event.worker_url)) return false;
  switch (event.type) {
    case SMG_EVENT_WORKER_ADDED:
    case SMG_EVENT_WORKER_UPDATED:
    case SMG_EVENT_WORKER_REMOVED:
      return true;
    case SMG_EVENT_LOAD_REPORT:
      return plausible_as<smg_event_load>(event);
    case SMG_EVENT_KV_BLOCKS:
      return plausible_as<smg_event_kv>(event);
    default:
      return event.type < SMG_EVENT_TYPE_COUNT && event.type > 0 &&
             plausible_as<smg_event_change>(event);
  }
}

std::shared_ptr<smg_event> copy_event(const smg_event& event) {
  if (!plausible(event)) return nullptr;
  Block measured(nullptr);
  if (!fill_by_type(event, measured)) return nullptr;
  // The default alignment of new[] suits every type.
  const std::shared_ptr<std::byte[]> memory(new std::byte[measured.size()]);
  Block block(memory.get());
  fill_by_type(event, block);
  return {memory, reinterpret_cast<smg_event*>(memory.get())};
}

}  // namespace smg
