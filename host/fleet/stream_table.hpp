// Tickets of a loop: numbers that stand for running streams and go stale when those end.
//
// A ticket is slot and generation, so a late or doubled call of a transport finds nothing. One
// loop's own; no locks.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "host/metrics/metrics.hpp"
#include "smg/transport.h"

namespace smg {

// One side of a stream: who is told what a transport says of it. On its loop's thread.
class StreamEvents {
 public:
  virtual std::int32_t on_head(const smg_response_head& head) = 0;
  virtual std::int32_t on_data(std::string_view data) = 0;
  virtual void on_end(const smg_outcome& outcome) = 0;
  virtual void on_release() {}

 protected:
  ~StreamEvents() = default;
};

class StreamTable {
 public:
  // Made on the loop's thread, which is then the one whose sink calls it takes. `late`: counts
  // calls for streams that have ended.
  explicit StreamTable(Series late);
  ~StreamTable();
  StreamTable(const StreamTable&) = delete;
  StreamTable& operator=(const StreamTable&) = delete;

  std::uint64_t insert(StreamEvents* stream) {
    if (free_ == kNone) {
      slots_.push_back({});
      free_ = static_cast<std::uint32_t>(slots_.size() - 1);
    }
    const std::uint32_t index = free_;
    Slot& slot = slots_[index];
    free_ = slot.next;
    slot.stream = stream;
    return (std::uint64_t{slot.generation} << 32) | index;
  }
  // nullptr: the stream has ended.
  StreamEvents* find(std::uint64_t ticket) const {
    const auto index = static_cast<std::uint32_t>(ticket);
    if (index >= slots_.size()) return nullptr;
    const Slot& slot = slots_[index];
    return slot.generation == static_cast<std::uint32_t>(ticket >> 32) ? slot.stream : nullptr;
  }
  void erase(std::uint64_t ticket) {
    if (find(ticket) == nullptr) return;
    const auto index = static_cast<std::uint32_t>(ticket);
    Slot& slot = slots_[index];
    slot.stream = nullptr;
    ++slot.generation;
    slot.next = free_;
    free_ = index;
  }

  // What every transport instance gets: finds the calling thread's table.
  static const smg_sink& sink();

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  struct Slot {
    StreamEvents* stream = nullptr;
    std::uint32_t generation = 1;
    std::uint32_t next = kNone;
  };

  static StreamEvents* running(std::uint64_t ticket);

  std::vector<Slot> slots_;
  std::uint32_t free_ = kNone;
  Series late_;
};

}  // namespace smg
