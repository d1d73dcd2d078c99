#include "host/bus/event_copy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

namespace smg {
namespace {

// One block: the event's struct first, then what it points to. Walks the event twice: to measure, and to copy.
class Block {
 public:
  explicit Block(std::byte* memory) : memory_(memory) {}

  std::size_t size() const { return used_; }

  // Room for `size` bytes filled from `source`; nullptr while measuring.
  std::byte* add(const void* source, std::size_t size) {
    used_ = (used_ + alignof(std::max_align_t) - 1) & ~(alignof(std::max_align_t) - 1);
    std::byte* const place = memory_ == nullptr ? nullptr : memory_ + used_;
    if (place != nullptr && size > 0) std::memcpy(place, source, size);
    used_ += size;
    return place;
  }
  template <typename T>
  void own(const T*& data, std::uint64_t count) {
    if (data == nullptr || count == 0) {
      data = nullptr;
      return;
    }
    std::byte* const place = add(data, static_cast<std::size_t>(count) * sizeof(T));
    if (place != nullptr) data = reinterpret_cast<const T*>(place);
  }
  void own(smg_view& view) {
    if (view.size == 0) view.data = nullptr;
    own(view.data, view.size);
  }

 private:
  std::byte* memory_;
  std::size_t used_ = 0;
};

// The part of a struct that both sides know; the rest is zero.
template <typename T>
T known_part(const void* source, std::uint64_t size) {
  T result{};
  std::memcpy(static_cast<void*>(&result), source,
              std::min<std::size_t>(sizeof(T), static_cast<std::size_t>(size)));
  return result;
}

void own_members(smg_event_change& change, Block& block) {
  block.own(change.subject);
  block.own(change.text);
}

void own_members(smg_event_load& load, Block& block) {
  smg_load_report& report = load.report;
  block.own(report.timestamp);
  block.own(load.source);
  if (report.ranks == nullptr || report.rank_count == 0 || report.rank_stride == 0) {
    report.ranks = nullptr;
    report.rank_count = 0;
  }
  const auto* source = reinterpret_cast<const std::byte*>(report.ranks);
  std::byte* target =
      block.add(nullptr, 0) == nullptr ? nullptr : block.add(nullptr, 0);  // aligned end
  smg_rank_load* first = reinterpret_cast<smg_rank_load*>(target);
  (void)first;
  (void)source;
}

}  // namespace
}  // namespace smg
