#include "streams.hpp"

#include <vector>

#include "answer.hpp"
#include "fields.hpp"
#include "line.hpp"
#include "prompt.hpp"

namespace acme {
namespace {

uint32_t status_of(std::string_view code) {
  if (code == "bad_request") return 400;
  if (code == "unknown_model") return 404;
  return code == "busy" ? 503 : 500;
}

std::string_view reason_of(const boost::json::object& frame) {
  const std::string_view reason = text_of(frame, "reason");
  return reason.empty() ? "stop" : reason;
}

}  // namespace

struct Streams::Stream {
  Stream(Streams& streams, uint64_t id, Line& carrier, const smg_request& request, uint64_t to,
         const Answer::Terms& terms)
      : owner(streams),
        number(id),
        line(carrier),
        ticket(to),
        streaming((request.flags & SMG_REQUEST_STREAM) != 0),
        answer(terms) {
    // Its tokens are seen as they come, so their absence says something about the engine.
    if (streaming) owner.services_.fleet.tracked_load(line.worker().ref, 1);
    if (request.deadline != 0) owner.services_.loop.set(deadline, request.deadline);
  }
  ~Stream() {
    owner.services_.loop.clear(deadline);
    if (streaming) owner.services_.fleet.tracked_load(line.worker().ref, -1);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void late() noexcept {
    owner.tell_engine(number, "cancel");
    owner.end(number, SMG_END_TIMEOUT, "the answer was not complete in time");
  }

  Streams& owner;
  const uint64_t number;
  Line& line;
  const uint64_t ticket;
  const bool streaming;
  const Answer answer;
  uint32_t phase = SMG_PHASE_CONNECT;
  std::string text;  // so far, for who did not ask for a stream
  smg::Timer<&Stream::late> deadline{*this};
};

Streams::Streams(const Services& services) : services_(services) {}
Streams::~Streams() = default;

Streams::Stream* Streams::find(uint64_t number) const {
  const auto found = streams_.find(number);
  return found == streams_.end() ? nullptr : found->second.get();
}

void Streams::tell_engine(uint64_t number, const char* op) {
  if (const Stream* const stream = find(number)) {
    stream->line.send({{"op", op}, {"id", static_cast<int64_t>(number)}});
  }
}

void Streams::begin(uint64_t number, Line& line, const smg_request& request, uint64_t ticket) {
  std::string error = "acme engines serve /v1/chat/completions and /v1/completions";
  const bool chat = request.endpoint == SMG_ENDPOINT_CHAT;
  const bool served = chat || request.endpoint == SMG_ENDPOINT_COMPLETIONS;
  auto prompt = served ? read_prompt(request, error) : std::nullopt;
  const Answer::Terms terms{
      .chat = chat,
      .usage = prompt && prompt->usage,
      .id = "acme-" + std::string(smg::text(request.request_id)),
      .model = std::string(smg::text(request.model)),
      .created = static_cast<int64_t>(services_.clock.unix_ms() / 1000),
  };
  streams_[number] = std::make_unique<Stream>(*this, number, line, request, ticket, terms);
  if (!prompt) {
    const std::string text = error_document("invalid_request_error", error);
    return document(number, served ? 400 : 501, text);
  }
  prompt->generate["id"] = number;
  line.send(prompt->generate);
}

void Streams::pause(uint64_t number) {
  tell_engine(number, "pause");
}

void Streams::resume(uint64_t number) {
  tell_engine(number, "resume");
}

void Streams::cancel(uint64_t number) {
  tell_engine(number, "cancel");
  streams_.erase(number);
}

void Streams::received(std::string_view op, const boost::json::object& frame) {
  const auto number = static_cast<uint64_t>(whole_of(frame, "id"));
  if (find(number) == nullptr) return;  // it was cancelled while this was on its way
  if (op == "token") return token(number, text_of(frame, "text"));
  if (op == "done") return done(number, frame);
  failed(number, frame);
}

void Streams::token(uint64_t number, std::string_view text) {
  Stream& stream = *find(number);
  services_.fleet.progress(stream.line.worker().ref, 1);
  if (!stream.streaming) {
    stream.text += text;
    return;
  }
  const bool first = stream.phase < SMG_PHASE_HEAD;
  if (first && !head(number, 200, "text/event-stream", -1)) return;
  out_.clear();
  if (first) stream.answer.first_chunk(out_);
  stream.answer.token_chunk(out_, text);
  data(number, out_);
}

void Streams::done(uint64_t number, const boost::json::object& frame) {
  Stream& stream = *find(number);
  const std::string_view reason = reason_of(frame);
  const Usage usage{whole_of(frame, "prompt_tokens"), whole_of(frame, "completion_tokens")};
  if (!stream.streaming) {
    return document(number, 200, stream.answer.document(stream.text, reason, usage));
  }
  if (stream.phase < SMG_PHASE_HEAD && !head(number, 200, "text/event-stream", -1)) return;
  out_.clear();
  stream.answer.last_chunks(out_, reason, usage);
  if (data(number, out_)) end(number, SMG_END_COMPLETE, {});
}

// Before the first token it is an answer like any other; after it only the end can tell.
void Streams::failed(uint64_t number, const boost::json::object& frame) {
  const std::string message(text_of(frame, "message"));
  if (find(number)->phase >= SMG_PHASE_HEAD) return end(number, SMG_END_ENGINE_ERROR, message);
  const std::string_view code = text_of(frame, "code");
  document(number, status_of(code), error_document(code, message));
}

bool Streams::head(uint64_t number, uint32_t status, std::string_view type, int64_t length) {
  Stream& stream = *find(number);
  stream.phase = SMG_PHASE_HEAD;
  const smg_header field{smg::view("content-type"), smg::view(type)};
  smg_response_head head{};
  head.struct_size = sizeof head;
  head.status = status;
  head.headers = &field;
  head.header_count = 1;
  head.content_length = length;
  const uint64_t ticket = stream.ticket;
  if (services_.sink.head(ticket, &head) == SMG_PAUSE) pause(number);
  if (find(number) == nullptr) return false;
  services_.sink.release(ticket);  // the request is not looked at any more
  return find(number) != nullptr;
}

bool Streams::data(uint64_t number, std::string_view bytes) {
  Stream& stream = *find(number);
  stream.phase = SMG_PHASE_DATA;
  if (services_.sink.data(stream.ticket, bytes.data(), bytes.size()) == SMG_PAUSE) pause(number);
  return find(number) != nullptr;
}

void Streams::end(uint64_t number, uint32_t kind, std::string_view detail) {
  const Stream& stream = *find(number);
  smg_outcome outcome{};
  outcome.struct_size = sizeof outcome;
  outcome.kind = kind;
  outcome.phase = stream.phase;
  outcome.detail = smg::view(detail);
  const uint64_t ticket = stream.ticket;
  streams_.erase(number);
  services_.sink.end(ticket, &outcome);
}

void Streams::document(uint64_t number, uint32_t status, std::string_view text) {
  if (!head(number, status, "application/json", static_cast<int64_t>(text.size()))) return;
  if (data(number, text)) end(number, SMG_END_COMPLETE, {});
}

void Streams::lose(const Line& line, uint32_t kind, std::string_view why) {
  std::vector<uint64_t> numbers;
  for (const auto& [number, stream] : streams_) {
    if (&stream->line == &line) numbers.push_back(number);
  }
  for (const uint64_t number : numbers) {
    Stream* const stream = find(number);
    if (stream == nullptr) continue;
    if (kind != SMG_END_CONNECT_FAILED && stream->phase == SMG_PHASE_CONNECT) {
      stream->phase = SMG_PHASE_SENT;
    }
    end(number, kind, why);
  }
}

}  // namespace acme
