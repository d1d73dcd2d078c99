#include "host/fleet/stream_table.hpp"

namespace smg {
namespace {

thread_local StreamTable* t_table = nullptr;

}  // namespace

StreamTable::StreamTable(Series late) : late_(late) {
  t_table = this;
}

StreamTable::~StreamTable() {
  t_table = nullptr;
}

StreamEvents* StreamTable::running(std::uint64_t ticket) {
  if (t_table == nullptr) return nullptr;  // a foreign thread: nothing here may be touched
  StreamEvents* const stream = t_table->find(ticket);
  if (stream == nullptr) t_table->late_.add();
  return stream;
}

const smg_sink& StreamTable::sink() {
  static constexpr smg_sink kSink{
      .struct_size = sizeof(smg_sink),
      .reserved = 0,
      .head = [](std::uint64_t ticket, const smg_response_head* head) -> std::int32_t {
        StreamEvents* const stream = running(ticket);
        return stream == nullptr ? SMG_CONTINUE : stream->on_head(*head);
      },
      .data = [](std::uint64_t ticket, const char* data, std::uint64_t size) -> std::int32_t {
        StreamEvents* const stream = running(ticket);
        return stream == nullptr ? SMG_CONTINUE : stream->on_data({data, size});
      },
      .end =
          [](std::uint64_t ticket, const smg_outcome* outcome) {
            if (StreamEvents* const stream = running(ticket)) stream->on_end(*outcome);
          },
      .release =
          [](std::uint64_t ticket) {
            if (StreamEvents* const stream = running(ticket)) stream->on_release();
          },
  };
  return kSink;
}

}  // namespace smg
