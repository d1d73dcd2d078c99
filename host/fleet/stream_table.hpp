// The running streams of a loop, each known to its transport by a ticket that goes stale when the
// stream ends.
//
// One loop's own; no locks. A ticket names the loop, the transport instance, a slot and the slot's
// generation: so a call that comes late, twice or on another thread finds no stream, and it is
// known who made it. All that the host asks of a transport about a stream goes through here, and
// all that the transport says passes a check: after nonsense or an exception the stream ends as
// SMG_END_BAD_RESPONSE, cancelled at the transport.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "host/fleet/endpoint.hpp"
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
  // Made on the loop's thread, which is then the one whose sink calls it takes.
  explicit StreamTable(std::uint32_t loop);
  ~StreamTable();
  StreamTable(const StreamTable&) = delete;
  StreamTable& operator=(const StreamTable&) = delete;

  // A ticket for a stream on that endpoint, which must stay until it is erased. The stream's
  // on_end() is the place to do that.
  std::uint64_t insert(StreamEvents* stream, const Endpoint& endpoint);
  // The stream may have ended when it returns.
  void start(std::uint64_t ticket, const smg_request& request);
  void resume(std::uint64_t ticket);
  // Erases it and has it stopped.
  void cancel(std::uint64_t ticket);
  void erase(std::uint64_t ticket);
  // nullptr: the stream has ended.
  StreamEvents* find(std::uint64_t ticket) {
    const Slot* const slot = slot_of(ticket);
    return slot == nullptr ? nullptr : slot->stream;
  }

  // What every transport instance gets: finds the calling thread's table.
  static const smg_sink& sink();

 private:
  // Of a ticket, from the lowest bit: slot, loop, number of the transport's FaultMeter, generation.
  static constexpr unsigned kSlotBits = 20, kLoopBits = 11, kNumberBits = 8;
  static constexpr unsigned kGenerationShift = kSlotBits + kLoopBits + kNumberBits;
  static constexpr std::uint32_t kNone = 0xffffffffu;

  struct Slot {
    StreamEvents* stream = nullptr;
    const Endpoint* endpoint = nullptr;
    std::uint64_t number = 0;                 // the plugin's, for the stream
    const std::uint64_t* starting = nullptr;  // where it is while start() runs
    std::uint64_t ticket = 0;
    std::uint32_t next = kNone;
    std::uint32_t phase = SMG_PHASE_CONNECT;
    bool released = false;

    std::uint64_t stream_number() const { return starting == nullptr ? number : *starting; }
  };

  Slot* slot_of(std::uint64_t ticket) {
    const std::uint64_t index = ticket & ((1u << kSlotBits) - 1);
    if (index >= slots_.size()) return nullptr;
    Slot& slot = slots_[index];
    return slot.stream != nullptr && slot.ticket == ticket ? &slot : nullptr;
  }
  // Ends it as the transport's failure.
  void fail(std::uint64_t ticket, std::string_view why);

  static StreamTable* here(std::uint64_t ticket);
  static Slot* running(std::uint64_t ticket);
  static void refuse(std::uint64_t ticket, std::string_view why);
  static std::int32_t head(std::uint64_t ticket, const smg_response_head* head) noexcept;
  static std::int32_t data(std::uint64_t ticket, const char* data, std::uint64_t size) noexcept;
  static void end(std::uint64_t ticket, const smg_outcome* outcome) noexcept;
  static void release(std::uint64_t ticket) noexcept;

  const std::uint32_t loop_;
  std::vector<Slot> slots_;
  std::uint32_t free_ = kNone;
};

}  // namespace smg
