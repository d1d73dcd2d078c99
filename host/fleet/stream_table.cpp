#include "host/fleet/stream_table.hpp"

#include "host/base/plausible.hpp"
#include "host/base/views.hpp"

namespace smg {
namespace {

constexpr std::uint64_t kLargestPiece = 1u << 30;

thread_local StreamTable* t_table = nullptr;

}  // namespace

StreamTable::StreamTable(std::uint32_t loop) : loop_(loop) {
  t_table = this;
}

StreamTable::~StreamTable() {
  t_table = nullptr;
}

std::uint64_t StreamTable::insert(StreamEvents* stream, const Endpoint& endpoint) {
  if (free_ == kNone) {
    slots_.push_back({});
    slots_.back().ticket = (slots_.size() - 1) | std::uint64_t{loop_} << kSlotBits;
    free_ = static_cast<std::uint32_t>(slots_.size() - 1);
  }
  Slot& slot = slots_[free_];
  free_ = slot.next;
  slot.stream = stream;
  slot.endpoint = &endpoint;
  slot.number = 0;
  slot.phase = SMG_PHASE_CONNECT;
  slot.released = false;
  const FaultMeter* const faults = endpoint.transport()->faults;
  const std::uint64_t number = faults == nullptr ? 0 : faults->number();
  constexpr std::uint64_t kPlace = (1ull << (kSlotBits + kLoopBits)) - 1;
  slot.ticket = (slot.ticket & kPlace) | number << (kSlotBits + kLoopBits) |
                ((slot.ticket >> kGenerationShift) + 1) << kGenerationShift;
  return slot.ticket;
}

void StreamTable::erase(std::uint64_t ticket) {
  Slot* const slot = slot_of(ticket);
  if (slot == nullptr) return;
  slot->stream = nullptr;
  slot->starting = nullptr;
  slot->next = free_;
  free_ = static_cast<std::uint32_t>(slot - slots_.data());
}

void StreamTable::start(std::uint64_t ticket, const smg_request& request) {
  // On the stack, because a plugin that sets it too late must hit nothing else.
  std::uint64_t number = 0;
  Slot* slot = slot_of(ticket);
  slot->starting = &number;
  const Endpoint& endpoint = *slot->endpoint;
  const smg_transport_api& api = endpoint.api();
  FaultMeter* const faults = endpoint.transport()->faults;
  const bool fine = guarded(faults, "start", [&, handle = endpoint.handle()] {
    api.start(handle, &request, ticket, &number);
  });
  slot = slot_of(ticket);
  if (slot == nullptr) return;
  slot->starting = nullptr;
  slot->number = number;
  if (!fine) fail(ticket, "the transport threw an exception");
}

void StreamTable::resume(std::uint64_t ticket) {
  const Slot* const slot = slot_of(ticket);
  if (slot == nullptr) return;
  const TransportRef& transport = *slot->endpoint->transport();
  const std::uint64_t number = slot->stream_number();
  if (!guarded(transport.faults, "resume",
               [&] { transport.api->resume(transport.self, number); })) {
    fail(ticket, "the transport threw an exception");
  }
}

void StreamTable::cancel(std::uint64_t ticket) {
  const Slot* const slot = slot_of(ticket);
  if (slot == nullptr) return;
  const TransportRef& transport = *slot->endpoint->transport();
  const std::uint64_t number = slot->stream_number();
  erase(ticket);
  guarded(transport.faults, "cancel", [&] { transport.api->cancel(transport.self, number); });
}

void StreamTable::fail(std::uint64_t ticket, std::string_view why) {
  const Slot* const slot = slot_of(ticket);
  if (slot == nullptr) return;
  StreamEvents* const stream = slot->stream;
  const smg_outcome outcome{.struct_size = sizeof(smg_outcome),
                            .kind = SMG_END_BAD_RESPONSE,
                            .phase = slot->phase,
                            .resends = 0,
                            .detail = view(why)};
  // The transport first: it may use what belongs to the stream until it is told to stop.
  cancel(ticket);
  stream->on_end(outcome);
}

StreamTable* StreamTable::here(std::uint64_t ticket) {
  const std::uint32_t loop = (ticket >> kSlotBits) & ((1u << kLoopBits) - 1);
  if (t_table != nullptr && t_table->loop_ == loop) return t_table;
  FaultMeter::count_at((ticket >> (kSlotBits + kLoopBits)) & ((1u << kNumberBits) - 1),
                       Fault::wrong_thread,
                       "the sink was called on another thread than that of the stream's loop");
  return nullptr;
}

StreamTable::Slot* StreamTable::running(std::uint64_t ticket) {
  StreamTable* const table = here(ticket);
  if (table == nullptr) return nullptr;
  Slot* const slot = table->slot_of(ticket);
  if (slot == nullptr) {
    FaultMeter::count_at((ticket >> (kSlotBits + kLoopBits)) & ((1u << kNumberBits) - 1),
                         Fault::late_call,
                         "the sink was called for a stream that has ended or was cancelled");
  }
  return slot;
}

void StreamTable::refuse(std::uint64_t ticket, std::string_view why) {
  const Slot* const slot = t_table->slot_of(ticket);
  if (FaultMeter* const faults = slot->endpoint->transport()->faults) {
    faults->count(Fault::bad_call, why);
  }
  t_table->fail(ticket, why);
}

std::int32_t StreamTable::head(std::uint64_t ticket, const smg_response_head* head) noexcept {
  Slot* const slot = running(ticket);
  if (slot == nullptr) return SMG_CONTINUE;
  std::string_view wrong;
  if (head == nullptr || !SMG_HAS(head, content_length)) {
    wrong = "sink.head was given no head, or a struct_size that is too small";
  } else if (slot->phase >= SMG_PHASE_HEAD) {
    wrong = "sink.head was called twice for one stream";
  } else if (head->status < 200 || head->status > 599) {
    wrong = "sink.head was given a status that is not from 200 to 599";
  } else if (!plausible(head->headers, head->header_count)) {
    wrong = "sink.head was given headers that cannot be: no pointer, or more than 1 MiB";
  } else if (head->content_length < -1) {
    wrong = "sink.head was given a content_length below -1";
  }
  if (!wrong.empty()) return refuse(ticket, wrong), SMG_PAUSE;
  slot->phase = SMG_PHASE_HEAD;
  return slot->stream->on_head(*head);
}

std::int32_t StreamTable::data(std::uint64_t ticket, const char* data,
                               std::uint64_t size) noexcept {
  Slot* const slot = running(ticket);
  if (slot == nullptr) return SMG_CONTINUE;
  if (slot->phase < SMG_PHASE_HEAD) {
    return refuse(ticket, "sink.data was called before sink.head"), SMG_PAUSE;
  }
  if ((data == nullptr && size > 0) || size > kLargestPiece) {
    return refuse(ticket, "sink.data was given bytes that cannot be: no pointer, or above 1 GiB"),
           SMG_PAUSE;
  }
  slot->phase = SMG_PHASE_DATA;
  return slot->stream->on_data({data, size});
}

void StreamTable::end(std::uint64_t ticket, const smg_outcome* outcome) noexcept {
  Slot* const slot = running(ticket);
  if (slot == nullptr) return;
  std::string_view wrong;
  if (outcome == nullptr || !SMG_HAS(outcome, detail)) {
    wrong = "sink.end was given no outcome, or a struct_size that is too small";
  } else if (outcome->kind > SMG_END_REFUSED) {
    wrong = "sink.end was given a kind that is no SMG_END_*";
  } else if (outcome->phase > SMG_PHASE_DATA) {
    wrong = "sink.end was given a phase that is no SMG_PHASE_*";
  } else if (outcome->kind == SMG_END_COMPLETE && slot->phase < SMG_PHASE_HEAD) {
    wrong = "sink.end was told that a stream without a head is complete";
  } else if (!plausible(outcome->detail)) {
    wrong = "sink.end was given a detail that cannot be: no pointer, or more than 1 MiB";
  }
  if (!wrong.empty()) return refuse(ticket, wrong);
  slot->stream->on_end(*outcome);
}

void StreamTable::release(std::uint64_t ticket) noexcept {
  Slot* const slot = running(ticket);
  if (slot == nullptr) return;
  if (slot->released) return refuse(ticket, "sink.release was called twice for one stream");
  slot->released = true;
  slot->stream->on_release();
}

const smg_sink& StreamTable::sink() {
  static constexpr smg_sink kSink{.struct_size = sizeof(smg_sink),
                                  .reserved = 0,
                                  .head = head,
                                  .data = data,
                                  .end = end,
                                  .release = release};
  return kSink;
}

}  // namespace smg
