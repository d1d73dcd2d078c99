// smg/cpp/http1.hpp - a strict HTTP/1.1 parser without I/O, for requests and for responses.
//
// Pull style: the caller shows the bytes it has and gets one step back; it drops what was consumed
// and calls again. Bytes that were not consumed must be shown again, in front of what came since
// and contiguous with it. Nothing is allocated, nothing thrown, nothing kept: views point into the
// caller's bytes (heads, bodies) and live as long as those. What is accepted, and what a message
// means, does not depend on how its bytes come in pieces.
//
//   RequestParser parser(limits);
//   RequestScratch scratch;                     // on the stack: the fields of one head
//   Step step = parser.next(data, size, scratch);
//     need_more   show more bytes, the unconsumed ones included
//     head        scratch.head is filled
//     body        step.body is a piece of the body, framing removed
//     complete    the message ended; what follows belongs to the next one
//     error       step.status and step.reason; the connection is of no further use
//
// Of a head nothing is consumed before all of it is there. Never more than max_head bytes, or
// max_chunk_line + max_trailers within a chunked body, stay unconsumed.
//
// A parser takes one message: construct it anew, in place, for the next. Accepted is what has one
// meaning only; what two parsers might read differently (RFC 9112, sections 2 to 7) is refused. One
// thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace smg::http1 {

struct Limits {
  std::size_t max_head = 65536;        // bytes, from the first line to the blank one
  std::uint64_t max_body = INT64_MAX;  // bytes without framing; refused when announced larger
  std::size_t max_chunk_line = 512;    // bytes: size, extensions and line end
  std::size_t max_trailers = 8192;     // bytes, with the blank line; they are checked and dropped
};

inline constexpr std::size_t kMaxFields = 100;  // of a head, and as many trailers

struct Field {
  std::string_view name;
  std::string_view value;  // without the blanks around it
};

struct RequestHead {
  std::string_view method;  // one of GET HEAD POST PUT DELETE PATCH OPTIONS
  std::string_view target;  // begins with '/'; an absolute form has lost its scheme and authority
  bool http10 = false;
  bool keep_alive = true;
  bool expect_continue = false;
  bool chunked = false;
  std::int64_t content_length = -1;  // -1: none
  std::span<const Field> fields;

  bool has_body() const { return chunked || content_length > 0; }
};

struct ResponseHead {
  unsigned status = 0;  // 200..599: interim answers are skipped
  std::string_view reason;
  bool http10 = false;
  bool keep_alive = true;
  bool chunked = false;
  std::int64_t content_length = -1;  // -1: chunked, until the end of the stream, or no body at all
  std::span<const Field> fields;
};

enum class StepKind : std::uint8_t { need_more, head, body, complete, error };

struct Step {
  StepKind kind = StepKind::need_more;
  std::uint16_t status = 0;  // error: what to answer a client; for responses always 502
  std::size_t consumed = 0;
  std::string_view body;
  const char* reason = "";
};

template <class Head>
struct Scratch {
  Head head;
  std::size_t count = 0;
  std::array<Field, kMaxFields> fields;
};
using RequestScratch = Scratch<RequestHead>;
using ResponseScratch = Scratch<ResponseHead>;

namespace detail {

// What both parsers share. `engine` is room for the parser that does the grammar.
struct State {
  enum class Phase : std::uint8_t { head, length, chunked, until_eof, complete, failed };
  Limits limits;
  std::uint64_t remaining = 0;  // of the body with a length, or of the chunk
  std::uint64_t announced = 0;  // by the chunks so far
  std::size_t scanned = 0;      // bytes of an incomplete head that were looked at
  Phase phase = Phase::head;
  std::uint8_t blank_lines = 0;  // in front of the request
  bool any_chunk = false;        // the first chunk line has been consumed
  bool reusable = true;
  alignas(8) std::array<unsigned char, 104> engine;
};

}  // namespace detail

class RequestParser {
 public:
  explicit RequestParser(const Limits& limits);
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;
  ~RequestParser();

  Step next(const char* data, std::size_t size, RequestScratch& scratch) noexcept;

 private:
  detail::State state_;
};

class ResponseParser {
 public:
  // `head_request`: the answer belongs to a HEAD request and has no body whatever it says.
  ResponseParser(const Limits& limits, bool head_request);
  ResponseParser(const ResponseParser&) = delete;
  ResponseParser& operator=(const ResponseParser&) = delete;
  ~ResponseParser();

  Step next(const char* data, std::size_t size, ResponseScratch& scratch) noexcept;
  // The stream has ended, all bytes before were shown: complete if that is how this body ends, else
  // an error.
  Step end_of_stream() noexcept;
  // After complete: the connection may carry another exchange, if no bytes are left over. Not so
  // after Connection: close, the end of the stream, or a 204 or 304 that announced a body.
  bool reusable() const { return state_.reusable; }

 private:
  Step read_answer(const char* data, std::size_t size, ResponseScratch& scratch);

  detail::State state_;
};

}  // namespace smg::http1
