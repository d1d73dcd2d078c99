#include "host/check/sink_desk.hpp"

#include <utility>

#include "host/base/views.hpp"
#include "host/check/rig.hpp"

namespace smg::check {
namespace {

SinkDesk* g_desk = nullptr;
thread_local bool t_inside_start = false;

std::int32_t told(Stream& stream, Stream::Moment moment) {
  return stream.react ? stream.react(stream, moment) : SMG_CONTINUE;
}

}  // namespace

SinkDesk::SinkDesk(Complaints& complaints) : complaints_(complaints) {
  g_desk = this;
}

SinkDesk::~SinkDesk() {
  g_desk = nullptr;
}

const smg_sink& SinkDesk::sink() {
  static constexpr smg_sink kSink{sizeof(smg_sink), 0, head, data, end, release};
  return kSink;
}

bool SinkDesk::inside_start() {
  return t_inside_start;
}

void SinkDesk::start(const smg_transport_api& api, void* endpoint, const smg_request& request,
                     Stream& stream) {
  {
    const std::lock_guard lock(mutex_);
    stream.ticket = last_ += 17;
    streams_.emplace(stream.ticket, &stream);
  }
  stream.loop = Loop::current()->index();
  t_inside_start = true;
  api.start(endpoint, &request, stream.ticket, &stream.number);
  t_inside_start = false;
  if (stream.number == 0 && !stream.ended()) complain("start() set no number for its stream");
}

void SinkDesk::forget(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  streams_.erase(stream.ticket);
}

void SinkDesk::complain(const std::string& text) {
  complaints_.add(Complaints::Kind::order, text);
}

Stream* SinkDesk::admit(std::uint64_t ticket, const char* call) {
  const std::string what = std::string("sink.") + call;
  Stream* stream = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = streams_.find(ticket); found != streams_.end()) stream = found->second;
  }
  if (stream == nullptr) {
    complain(what + "() came with a ticket that is not, or no longer, known");
    return nullptr;
  }
  const Loop* const loop = Loop::current();
  if (loop == nullptr || loop->index() != stream->loop) {
    complaints_.add(Complaints::Kind::thread,
                    what +
                        "() came on another thread than the one that called start(); come back "
                        "to it with loop.post");
    return nullptr;
  }
  if (stream->cancelled) {
    complain(what + "() came after cancel()");
    return nullptr;
  }
  if (stream->ended()) {
    complain(what + "() came after end()");
    return nullptr;
  }
  if (stream->number == 0) complain(what + "() came before start() had set the stream's number");
  return stream;
}

std::int32_t SinkDesk::head(std::uint64_t ticket, const smg_response_head* head) {
  Stream* const stream = g_desk->admit(ticket, "head");
  if (stream == nullptr) return SMG_CONTINUE;
  if (stream->heads.fetch_add(1) > 0) g_desk->complain("sink.head() came twice");
  if (head == nullptr || head->struct_size < sizeof(smg_response_head)) {
    g_desk->complain("sink.head() came without a head, or with a struct_size that is too small");
    return SMG_CONTINUE;
  }
  if (head->status < 200 || head->status > 599) {
    g_desk->complain("sink.head() came with the status " + std::to_string(head->status) +
                     "; from 200 to 599 are allowed");
  }
  if (head->header_count > 0 && head->headers == nullptr) {
    g_desk->complain("sink.head() came with headers that are NULL");
  }
  stream->status = head->status;
  return told(*stream, Stream::Moment::head);
}

std::int32_t SinkDesk::data(std::uint64_t ticket, const char* data, std::uint64_t size) {
  Stream* const stream = g_desk->admit(ticket, "data");
  if (stream == nullptr) return SMG_CONTINUE;
  if (stream->heads == 0) g_desk->complain("sink.data() came before sink.head()");
  if (size > 0 && data == nullptr) {
    g_desk->complain("sink.data() came with NULL and a size of " + std::to_string(size));
    return SMG_CONTINUE;
  }
  ++stream->pieces;
  stream->bytes += size;
  if (stream->paused) stream->bytes_paused += size;
  if (stream->keep_body) stream->body.append(data, size);
  return told(*stream, Stream::Moment::data);
}

void SinkDesk::end(std::uint64_t ticket, const smg_outcome* outcome) {
  Stream* const stream = g_desk->admit(ticket, "end");
  if (stream == nullptr) return;
  if (outcome == nullptr || outcome->struct_size < sizeof(smg_outcome)) {
    g_desk->complain("sink.end() came without an outcome, or with a struct_size that is too small");
  } else {
    if (outcome->kind > SMG_END_REFUSED || outcome->phase > SMG_PHASE_DATA) {
      g_desk->complain("sink.end() came with the kind " + std::to_string(outcome->kind) +
                       " and the phase " + std::to_string(outcome->phase) +
                       "; smg/transport.h lists those that exist");
    }
    if (outcome->kind == SMG_END_COMPLETE && stream->heads == 0) {
      g_desk->complain("sink.end() said complete, and sink.head() never came");
    }
    stream->kind = outcome->kind;
    stream->phase = outcome->phase;
    stream->detail = text(outcome->detail);
  }
  told(*stream, Stream::Moment::end);
  stream->ends.fetch_add(1, std::memory_order_release);
}

void SinkDesk::release(std::uint64_t ticket) {
  if (Stream* const stream = g_desk->admit(ticket, "release")) {
    told(*stream, Stream::Moment::release);
  }
}

}  // namespace smg::check
