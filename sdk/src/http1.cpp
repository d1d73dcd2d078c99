#include "smg/cpp/http1.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "http1_engine.hpp"

namespace smg::http1 {
namespace {

using detail::State;
using Phase = State::Phase;

constexpr std::uint8_t kMaxBlankLines = 4;
// "0", line end, line end. Beast asserts when it gets the first bytes of a last chunk and fewer
// than these.
constexpr std::size_t kShortestChunked = 5;

template <bool kRequest>
Engine<kRequest>& engine_of(State& state) {
  return *std::launder(reinterpret_cast<Engine<kRequest>*>(state.engine.data()));
}

template <bool kRequest>
void make_engine(State& state) {
  static_assert(sizeof(Engine<kRequest>) <= sizeof(State::engine));
  static_assert(alignof(Engine<kRequest>) <= alignof(State));
  ::new (static_cast<void*>(state.engine.data())) Engine<kRequest>();
}

Step need_more(std::size_t consumed) {
  Step step;
  step.consumed = consumed;
  return step;
}

Step piece(const char* data, std::size_t size, std::size_t consumed) {
  Step step;
  step.kind = StepKind::body;
  step.body = {data, size};
  step.consumed = consumed;
  return step;
}

Step complete(State& state, std::size_t consumed) {
  state.phase = Phase::complete;
  Step step;
  step.kind = StepKind::complete;
  step.consumed = consumed;
  return step;
}

template <bool kRequest>
Step failure(State& state, std::uint16_t status, const char* reason) {
  state.phase = Phase::failed;
  state.reusable = false;
  Step step;
  step.kind = StepKind::error;
  step.status = kRequest ? status : std::uint16_t{502};
  step.reason = reason;
  return step;
}

const char* grammar_reason(const beast::error_code& ec) {
  if (ec.category() != beast::error_code(http::error::bad_field).category())
    return "malformed message";
  switch (static_cast<http::error>(ec.value())) {
    case http::error::bad_method:
    case http::error::bad_target:
      return "malformed request line";
    case http::error::bad_version:
    case http::error::bad_status:
    case http::error::bad_reason:
      return "malformed first line";
    case http::error::bad_field:
      return "malformed field name";
    case http::error::bad_value:
      return "malformed field value";
    case http::error::bad_content_length:
    case http::error::multiple_content_length:
    case http::error::bad_transfer_encoding:
      return "ambiguous message length";
    case http::error::bad_chunk:
    case http::error::bad_chunk_extension:
      return "malformed chunk";
    default:
      return "malformed message";
  }
}

template <bool kRequest>
Step failure(State& state, Problem problem, const beast::error_code& ec) {
  const auto with = [&](std::uint16_t status, const char* reason) {
    return failure<kRequest>(state, status, reason);
  };
  switch (problem) {
    case Problem::none:
      return with(400, grammar_reason(ec));
    case Problem::grammar:
      return with(400, "malformed message");
    case Problem::method:
      return with(501, "unknown method");
    case Problem::target:
      return with(400, "request target is not a path");
    case Problem::fields:
      return with(431, "more than 100 header fields");
    case Problem::framing:
      return with(400, "ambiguous message length");
    case Problem::length:
      return with(400, "Content-Length is not a number in range");
    case Problem::host:
      return with(400, "there must be exactly one Host field");
    case Problem::expectation:
      return with(417, "unknown expectation");
    case Problem::too_large:
      return with(413, "body is larger than allowed");
    case Problem::chunk_line:
      return with(400, "chunk line is too long");
    case Problem::trailers:
      return with(400, "trailers are too long or too many");
  }
  return with(400, "malformed message");
}

// All of the head or nothing: its views must be valid together.
template <bool kRequest>
Step read_head(State& state, const char* data, std::size_t size,
               Scratch<typename Engine<kRequest>::Head>& scratch) {
  switch (scan_head(data, size, state.limits.max_head, state.scanned)) {
    case Scan::incomplete:
      return need_more(0);
    case Scan::malformed:
      return failure<kRequest>(state, 400, "malformed line in the head");
    case Scan::too_long:
      return failure<kRequest>(state, 431, "head is too large");
    case Scan::complete:
      break;
  }
  const std::size_t length = state.scanned;
  scratch.head = {};
  scratch.count = 0;
  Call<typename Engine<kRequest>::Head> call{.state = state, .scratch = &scratch};
  auto& engine = engine_of<kRequest>(state);
  engine.call = &call;
  beast::error_code ec;
  const std::size_t used = engine.put(boost::asio::const_buffer(data, length), ec);
  if (kRequest && ec == http::error::bad_version && names_later_version({data, length})) {
    return failure<kRequest>(state, 505, "HTTP version is neither 1.0 nor 1.1");
  }
  if (ec) return failure<kRequest>(state, call.problem, ec);
  if (used != length) return failure<kRequest>(state, 400, "malformed message");
  Step step;
  step.kind = StepKind::head;
  step.consumed = length;
  return step;
}

template <bool kRequest>
Step begin_body(State& state, const Step& head_step, const typename Engine<kRequest>::Head& head) {
  if (head.chunked) {
    state.phase = Phase::chunked;
    return head_step;
  }
  state.phase = Phase::length;
  state.remaining = static_cast<std::uint64_t>(std::max<std::int64_t>(head.content_length, 0));
  if (state.remaining > state.limits.max_body) {
    return failure<kRequest>(state, Problem::too_large, {});
  }
  return head_step;
}

Step read_length_body(State& state, const char* data, std::size_t size) {
  if (state.remaining == 0) return complete(state, 0);
  if (size == 0) return need_more(0);
  const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(state.remaining, size));
  state.remaining -= take;
  return piece(data, take, take);
}

template <bool kRequest>
Step read_chunked_body(State& state, const char* data, std::size_t size) {
  auto& engine = engine_of<kRequest>(state);
  const std::size_t max_framing = state.limits.max_chunk_line + state.limits.max_trailers;
  std::size_t done = 0;
  while (size - done >= (state.any_chunk ? 1 : kShortestChunked)) {
    const char* at = data + done;
    // Framing beyond the limit is not shown, so that it cannot turn "too long" into another
    // verdict.
    const std::size_t shown =
        state.remaining > 0 ? size - done : std::min(size - done, max_framing);
    Call<typename Engine<kRequest>::Head> call{.state = state};
    call.chunk_line = state.any_chunk ? at + 2 : at;  // behind the line end of the chunk before
    engine.call = &call;
    beast::error_code ec;
    const std::size_t used = engine.put(boost::asio::const_buffer(at, shown), ec);
    if (ec == http::error::need_more) {
      if (state.remaining == 0 && has_bare_line_end({at, shown})) {
        return failure<kRequest>(state, Problem::grammar, ec);
      }
      if (shown == max_framing) return failure<kRequest>(state, Problem::trailers, ec);
      return need_more(done);
    }
    if (ec) return failure<kRequest>(state, call.problem, ec);
    done += used;
    if (!call.piece.empty()) return piece(call.piece.data(), call.piece.size(), done);
    if (engine.is_done()) {
      const auto length = static_cast<std::size_t>(at + used - call.trailers);
      if (length > state.limits.max_trailers || has_folding({call.trailers, length})) {
        return failure<kRequest>(state, Problem::trailers, ec);
      }
      return complete(state, done);
    }
  }
  // Too little yet for the first chunk to be looked at; behind its line any bytes may follow.
  std::string_view line(data + done, size - done);
  if (const std::size_t end = line.find('\n'); end != std::string_view::npos) {
    line = line.substr(0, end + 1);
  }
  if (state.remaining == 0 && has_bare_line_end(line)) {
    return failure<kRequest>(state, Problem::grammar, {});
  }
  return need_more(done);
}

// A client may leave blank lines behind a body (RFC 9112, 2.2). Returns how many bytes they take.
std::size_t skip_blank_lines(State& state, const char* data, std::size_t size) {
  std::size_t skipped = 0;
  while (state.scanned == 0 && state.blank_lines < kMaxBlankLines && size - skipped >= 2 &&
         data[skipped] == '\r' && data[skipped + 1] == '\n') {
    skipped += 2;
    ++state.blank_lines;
  }
  return skipped;
}

}  // namespace

RequestParser::RequestParser(const Limits& limits) {
  state_.limits = limits;
  make_engine<true>(state_);
}

RequestParser::~RequestParser() {
  std::destroy_at(&engine_of<true>(state_));
}

Step RequestParser::next(const char* data, std::size_t size, RequestScratch& scratch) noexcept {
  switch (state_.phase) {
    case Phase::head: {
      const std::size_t skipped = skip_blank_lines(state_, data, size);
      const bool maybe_blank = state_.scanned == 0 && state_.blank_lines < kMaxBlankLines &&
                               size - skipped == 1 && data[skipped] == '\r';
      if (size == skipped || maybe_blank) return need_more(skipped);
      Step step = read_head<true>(state_, data + skipped, size - skipped, scratch);
      step.consumed += skipped;
      if (step.kind != StepKind::head) return step;
      return begin_body<true>(state_, step, scratch.head);
    }
    case Phase::length:
      return read_length_body(state_, data, size);
    case Phase::chunked:
      return read_chunked_body<true>(state_, data, size);
    default:
      return failure<true>(state_, 400, "the message is over");
  }
}

ResponseParser::ResponseParser(const Limits& limits, bool head_request) {
  state_.limits = limits;
  make_engine<false>(state_);
  engine_of<false>(state_).skip(head_request);
}

ResponseParser::~ResponseParser() {
  std::destroy_at(&engine_of<false>(state_));
}

Step ResponseParser::next(const char* data, std::size_t size, ResponseScratch& scratch) noexcept {
  switch (state_.phase) {
    case Phase::head:
      return read_answer(data, size, scratch);
    case Phase::length:
      return read_length_body(state_, data, size);
    case Phase::chunked:
      return read_chunked_body<false>(state_, data, size);
    case Phase::until_eof:
      return size == 0 ? need_more(0) : piece(data, size, size);
    default:
      return failure<false>(state_, 502, "the message is over");
  }
}

Step ResponseParser::read_answer(const char* data, std::size_t size, ResponseScratch& scratch) {
  const ResponseHead& head = scratch.head;
  const bool head_request = engine_of<false>(state_).skip();
  std::size_t done = 0;
  for (;;) {
    Step step = read_head<false>(state_, data + done, size - done, scratch);
    step.consumed += done;
    if (step.kind != StepKind::head) return step;
    if (head.status == 101) return failure<false>(state_, 502, "the answer switches protocols");
    const bool announces_body = head.chunked || head.content_length > 0;
    if (head.status < 200) {  // interim: the real answer follows
      if (announces_body) return failure<false>(state_, 502, "an interim answer has a body");
      done = step.consumed;
      std::destroy_at(&engine_of<false>(state_));
      make_engine<false>(state_);
      engine_of<false>(state_).skip(head_request);
      state_.scanned = 0;
      continue;
    }
    if (!head.keep_alive) state_.reusable = false;
    if (head_request || head.status == 204 || head.status == 304) {
      if (!head_request && announces_body) state_.reusable = false;
      state_.phase = Phase::length;
      return step;
    }
    if (!head.chunked && head.content_length < 0) {
      state_.phase = Phase::until_eof;
      return step;
    }
    return begin_body<false>(state_, step, head);
  }
}

Step ResponseParser::end_of_stream() noexcept {
  state_.reusable = false;
  const bool ended = state_.phase == Phase::until_eof || state_.phase == Phase::complete ||
                     (state_.phase == Phase::length && state_.remaining == 0);
  if (ended) return complete(state_, 0);
  return failure<false>(state_, 502, "the stream ended before the message did");
}

}  // namespace smg::http1
