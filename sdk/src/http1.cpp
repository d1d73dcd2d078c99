#include "smg/cpp/http1.hpp"

#include <boost/beast/http/basic_parser.hpp>
#include <cstring>
#include <new>

namespace smg::http1 {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using Phase = detail::State::Phase;

enum class Problem : std::uint8_t {
  none,
  grammar,
  version,
  method,
  fields,
  framing,
  length,
  too_large,
  host,
  target,
  expectation,
};

bool same(beast::string_view a, std::string_view lower) {
  if (a.size() != lower.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const char c = a[i] >= 'A' && a[i] <= 'Z' ? static_cast<char>(a[i] | 0x20) : a[i];
    if (c != lower[i]) return false;
  }
  return true;
}

std::string_view to_std(beast::string_view text) {
  return {text.data(), text.size()};
}

// Beast does the grammar; what it lets through although it has two readings is caught here.
template <bool kRequest>
class Engine final : public http::basic_parser<kRequest> {
 public:
  using Head = std::conditional_t<kRequest, RequestHead, ResponseHead>;

  Engine() {
    this->header_limit(UINT32_MAX);
    this->body_limit(boost::none);
  }

  Scratch<Head>* scratch = nullptr;
  const Limits* limits = nullptr;
  std::string_view piece;
  Problem problem = Problem::none;
  std::uint8_t hosts = 0;
  std::uint8_t lengths = 0;
  std::uint8_t encodings = 0;
  bool in_trailers = false;

 private:
  using error_code = beast::error_code;

  void fail(Problem what, error_code& ec) {
    problem = what;
    ec = http::error::bad_value;
  }

  void on_request_impl(http::verb verb, beast::string_view method, beast::string_view target,
                       int version, error_code& ec) override {
    if constexpr (kRequest) {
      switch (verb) {
        case http::verb::get:
        case http::verb::head:
        case http::verb::post:
        case http::verb::put:
        case http::verb::delete_:
        case http::verb::patch:
        case http::verb::options:
          break;
        default:
          return fail(Problem::method, ec);
      }
      scratch->head.method = to_std(method);
      scratch->head.http10 = version == 10;
      set_target(to_std(target), verb, ec);
    }
  }

  void set_target(std::string_view target, http::verb verb, error_code& ec) {
    if constexpr (kRequest) {
      for (const char c : target) {
        if (c == '#' || static_cast<unsigned char>(c) >= 0x80) return fail(Problem::target, ec);
      }
      if (target[0] != '/') {
        const std::size_t scheme = same(target.substr(0, 7), "http://")    ? 7
                                   : same(target.substr(0, 8), "https://") ? 8
                                                                           : 0;
        if (target == "*" && verb == http::verb::options) {
          target = "/";
        } else if (scheme == 0 || scheme == target.size() || target[scheme] == '/' ||
                   target[scheme] == '?') {
          return fail(Problem::target, ec);
        } else {
          const std::size_t path = target.find_first_of("/?", scheme);
          if (path == std::string_view::npos) {
            target = "/";
          } else if (target[path] == '?') {
            return fail(Problem::target, ec);
          } else {
            target = target.substr(path);
          }
        }
      }
      scratch->head.target = target;
    }
  }

  void on_response_impl(int code, beast::string_view reason, int version, error_code& ec) override {
    if constexpr (!kRequest) {
      if (code < 100 || code > 599) return fail(Problem::grammar, ec);
      scratch->head.status = static_cast<unsigned>(code);
      scratch->head.reason = to_std(reason);
      scratch->head.http10 = version == 10;
    }
  }

  void on_field_impl(http::field field, beast::string_view name, beast::string_view value,
                     error_code& ec) override {
    if (in_trailers) return;
    if (scratch->count == kMaxFields) return fail(Problem::fields, ec);
    scratch->fields[scratch->count++] = {to_std(name), to_std(value)};
    switch (field) {
      case http::field::content_length:
        if (++lengths > 1 || value.empty()) return fail(Problem::framing, ec);
        for (const char c : value) {
          if (c < '0' || c > '9') return fail(Problem::length, ec);
        }
        break;
      case http::field::transfer_encoding:
        if (++encodings > 1 || !same(value, "chunked")) return fail(Problem::framing, ec);
        break;
      case http::field::host:
        if (kRequest && ++hosts > 1) return fail(Problem::host, ec);
        break;
      case http::field::expect:
        if constexpr (kRequest) {
          if (!same(value, "100-continue")) return fail(Problem::expectation, ec);
          scratch->head.expect_continue = true;
        }
        break;
      default:
        break;
    }
  }

  void on_header_impl(error_code& ec) override {
    auto& head = scratch->head;
    if (lengths + encodings > 1 || (encodings > 0 && head.http10)) {
      return fail(Problem::framing, ec);
    }
    head.chunked = encodings > 0;
    if (lengths > 0) {
      const auto length = this->content_length();
      if (!length || *length > INT64_MAX) return fail(Problem::length, ec);
      head.content_length = static_cast<std::int64_t>(*length);
    }
    head.keep_alive = this->keep_alive();
    head.fields = {scratch->fields.data(), scratch->count};
    if constexpr (kRequest) {
      if (!head.http10 && hosts != 1) return fail(Problem::host, ec);
      // HTTP/1.0 has no interim answers.
      if (head.http10) head.expect_continue = false;
    }
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(beast::string_view body, error_code&) override { return body.size(); }

  void on_chunk_header_impl(std::uint64_t size, beast::string_view extension,
                            error_code& ec) override {
    if (extension.size() > limits->max_chunk_line) return fail(Problem::grammar, ec);
    if (size > limits->max_body) return fail(Problem::too_large, ec);
    in_trailers = size == 0;
  }
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view body, error_code&) override {
    piece = to_std(body);
    return body.size();
  }
  void on_finish_impl(error_code&) override {}
};

using RequestEngine = Engine<true>;
using ResponseEngine = Engine<false>;
static_assert(sizeof(RequestEngine) <= sizeof(detail::State::engine));
static_assert(sizeof(ResponseEngine) <= sizeof(detail::State::engine));

template <bool kRequest>
Engine<kRequest>& engine_of(detail::State& state) {
  return *std::launder(reinterpret_cast<Engine<kRequest>*>(state.engine.data()));
}

Step failure(detail::State& state, std::uint16_t status, const char* reason) {
  state.phase = Phase::failed;
  state.reusable = false;
  Step step;
  step.kind = StepKind::error;
  step.status = status;
  step.reason = reason;
  return step;
}

template <bool kRequest>
Step failure(detail::State& state, Problem problem, const beast::error_code& ec) {
  std::uint16_t status = 400;
  const char* reason = "malformed message";
  switch (problem) {
    case Problem::version:
      status = 505, reason = "HTTP version is not 1.0 or 1.1";
      break;
    case Problem::method:
      status = 501, reason = "unknown method";
      break;
    case Problem::fields:
      status = 431, reason = "more than 100 header fields";
      break;
    case Problem::framing:
      reason = "ambiguous message length";
      break;
    case Problem::length:
      reason = "Content-Length is not a number in range";
      break;
    case Problem::too_large:
      status = 413, reason = "body is larger than allowed";
      break;
    case Problem::host:
      reason = "there must be exactly one Host field";
      break;
    case Problem::target:
      reason = "request target is not a path";
      break;
    case Problem::expectation:
      status = 417, reason = "unknown expectation";
      break;
    case Problem::grammar:
      break;
    case Problem::none:
      if (ec == http::error::bad_version) {
        // A request line without a version, as HTTP/0.9 had it, is malformed rather than of another
        // version.
        status = 505, reason = "HTTP version is not 1.0 or 1.1";
      } else if (ec == http::error::bad_content_length ||
                 ec == http::error::multiple_content_length ||
                 ec == http::error::bad_transfer_encoding) {
        reason = "ambiguous message length";
      } else if (ec == http::error::bad_chunk || ec == http::error::bad_chunk_extension) {
        reason = "malformed chunk";
      }
      break;
  }
  if (!kRequest) status = 502;
  return failure(state, status, reason);
}

enum class Scan : std::uint8_t { incomplete, complete, malformed, too_long };

// Looks for the blank line that ends a head, and on the way for line ends and foldings that parsers
// disagree about. Goes on where it stopped. `length` includes the blank line.
Scan scan_head(detail::State& state, const char* data, std::size_t size, std::size_t& length) {
  while (state.scanned < size) {
    const auto* newline =
        static_cast<const char*>(std::memchr(data + state.scanned, '\n', size - state.scanned));
    const std::size_t line_end =
        newline == nullptr ? size : static_cast<std::size_t>(newline - data);
    if (newline == nullptr) {
      state.scanned = size;
      break;
    }
    const char* line = data + state.line_start;
    const std::size_t count = line_end - state.line_start;  // with the carriage return
    if (count == 0 || line[count - 1] != '\r') return Scan::malformed;
    if (std::memchr(line, '\r', count - 1) != nullptr) return Scan::malformed;
    if (std::memchr(line, '\0', count) != nullptr) return Scan::malformed;
    if (state.line_start > 0 && (line[0] == ' ' || line[0] == '\t')) return Scan::malformed;
    state.scanned = line_end + 1;
    state.line_start = state.scanned;
    if (count == 1) {
      length = state.scanned;
      return length > state.limits.max_head ? Scan::too_long : Scan::complete;
    }
  }
  return size > state.limits.max_head ? Scan::too_long : Scan::incomplete;
}

Step body_piece(detail::State& state, const char* data, std::size_t size) {
  Step step;
  if (state.remaining == 0) {
    state.phase = Phase::complete;
    step.kind = StepKind::complete;
    return step;
  }
  if (size == 0) return step;
  const std::uint64_t take = std::min<std::uint64_t>(state.remaining, size);
  state.remaining -= take;
  step.kind = StepKind::body;
  step.consumed = static_cast<std::size_t>(take);
  step.body = {data, step.consumed};
  return step;
}

template <bool kRequest>
Step chunk_step(detail::State& state, const char* data, std::size_t size) {
  auto& engine = engine_of<kRequest>(state);
  engine.limits = &state.limits;
  Step step;
  for (;;) {
    // Beast asserts on a last chunk of which fewer bytes are there.
    if (state.first_chunk && size - step.consumed < 5) return step;
    if (size == step.consumed) return step;
    engine.piece = {};
    beast::error_code ec;
    const std::size_t used =
        engine.put(boost::asio::const_buffer(data + step.consumed, size - step.consumed), ec);
    state.first_chunk = false;
    step.consumed += used;
    if (ec == http::error::need_more) {
      const std::size_t left = size - step.consumed;
      const bool line_open = std::memchr(data + step.consumed + (left > 2 ? 2 : 0), '\n',
                                         left - (left > 2 ? 2 : 0)) == nullptr;
      if (left > (line_open ? state.limits.max_chunk_line : state.limits.max_trailers)) {
        return failure(state, kRequest ? 400 : 502,
                       line_open ? "chunk line is too long" : "trailers are too long");
      }
      return step;
    }
    if (ec) return failure<kRequest>(state, engine.problem, ec);
    if (!engine.piece.empty()) {
      state.body_seen += engine.piece.size();
      if (state.body_seen > state.limits.max_body) {
        return failure<kRequest>(state, Problem::too_large, ec);
      }
      step.kind = StepKind::body;
      step.body = engine.piece;
      return step;
    }
    if (engine.is_done()) {
      state.phase = Phase::complete;
      step.kind = StepKind::complete;
      return step;
    }
  }
}

template <bool kRequest>
Step head_step(detail::State& state, const char* data, std::size_t size,
               Scratch<typename Engine<kRequest>::Head>& scratch) {
  std::size_t skipped = 0;
  if (kRequest && state.scanned == 0) {
    // A blank line or two before a request are the remains of a careless client (RFC 9112, 2.2).
    while (skipped < 4 && size - skipped >= 2 && data[skipped] == '\r' &&
           data[skipped + 1] == '\n') {
      skipped += 2;
    }
  }
  Step step;
  if (skipped > 0) {
    step.consumed = skipped;
    return step;
  }
  // A lone carriage return may become such a line.
  if (kRequest && state.scanned == 0 && size == 1 && data[0] == '\r') return step;
  std::size_t length = 0;
  switch (scan_head(state, data, size, length)) {
    case Scan::incomplete:
      return step;
    case Scan::malformed:
      return failure(state, kRequest ? 400 : 502, "malformed line in the head");
    case Scan::too_long:
      return failure(state, kRequest ? 431 : 502, "head is too large");
    case Scan::complete:
      break;
  }
  auto& engine = engine_of<kRequest>(state);
  scratch.head = {};
  scratch.count = 0;
  engine.scratch = &scratch;
  beast::error_code ec;
  const std::size_t used = engine.put(boost::asio::const_buffer(data, length), ec);
  engine.scratch = nullptr;
  if (ec) return failure<kRequest>(state, engine.problem, ec);
  if (used != length) return failure(state, kRequest ? 400 : 502, "malformed head");
  step.kind = StepKind::head;
  step.consumed = length;
  return step;
}

template <bool kRequest>
void renew(detail::State& state) {
  std::destroy_at(&engine_of<kRequest>(state));
  ::new (static_cast<void*>(state.engine.data())) Engine<kRequest>();
  state.scanned = 0;
  state.line_start = 0;
}

}  // namespace

RequestParser::RequestParser(const Limits& limits) {
  state_.limits = limits;
  ::new (static_cast<void*>(state_.engine.data())) RequestEngine();
}
RequestParser::~RequestParser() {
  std::destroy_at(&engine_of<true>(state_));
}

Step RequestParser::next(const char* data, std::size_t size, RequestScratch& scratch) {
  switch (state_.phase) {
    case Phase::head: {
      Step step;
      std::size_t skipped = 0;
      do {  // blank lines in front are consumed on the way
        step = head_step<true>(state_, data + skipped, size - skipped, scratch);
        skipped += step.consumed;
      } while (step.kind == StepKind::need_more && step.consumed > 0 && skipped < size &&
               skipped <= 8);
      step.consumed = skipped;
      if (step.kind != StepKind::head) return step;
      if (scratch.head.chunked) {
        state_.phase = Phase::chunked;
      } else {
        state_.phase = Phase::length;
        const auto length = scratch.head.content_length;
        state_.remaining = length < 0 ? 0 : static_cast<std::uint64_t>(length);
        if (state_.remaining > state_.limits.max_body) {
          return failure<true>(state_, Problem::too_large, {});
        }
      }
      return step;
    }
    case Phase::length:
      return body_piece(state_, data, size);
    case Phase::chunked:
      return chunk_step<true>(state_, data, size);
    default:
      return failure(state_, 400, "message is over");
  }
}

ResponseParser::ResponseParser(const Limits& limits, bool head_request) {
  state_.limits = limits;
  state_.head_request = head_request;
  ::new (static_cast<void*>(state_.engine.data())) ResponseEngine();
}
ResponseParser::~ResponseParser() {
  std::destroy_at(&engine_of<false>(state_));
}

Step ResponseParser::next(const char* data, std::size_t size, ResponseScratch& scratch) {
  switch (state_.phase) {
    case Phase::head: {
      std::size_t skipped = 0;
      for (;;) {
        Step step = head_step<false>(state_, data + skipped, size - skipped, scratch);
        step.consumed += skipped;
        if (step.kind != StepKind::head) return step;
        const ResponseHead& head = scratch.head;
        if (head.status == 101) return failure(state_, 502, "answer switches protocols");
        if (head.status < 200) {  // interim: the real answer follows
          if (head.chunked || head.content_length > 0) {
            return failure(state_, 502, "interim answer with a body");
          }
          skipped = step.consumed;
          renew<false>(state_);
          continue;
        }
        const bool bodiless = head.status == 204 || head.status == 304;
        if (head.status == 204 && (head.chunked || head.content_length > 0)) {
          state_.reusable = false;
        }
        if (!head.keep_alive && (head.chunked || head.content_length >= 0 || bodiless)) {
          state_.reusable = false;
        }
        if (state_.head_request || bodiless) {
          state_.phase = Phase::length;
          state_.remaining = 0;
        } else if (head.chunked) {
          state_.phase = Phase::chunked;
        } else if (head.content_length >= 0) {
          state_.phase = Phase::length;
          state_.remaining = static_cast<std::uint64_t>(head.content_length);
        } else {
          state_.phase = Phase::until_eof;
          state_.reusable = false;
        }
        return step;
      }
    }
    case Phase::length:
      return body_piece(state_, data, size);
    case Phase::chunked:
      return chunk_step<false>(state_, data, size);
    case Phase::until_eof: {
      Step step;
      if (size == 0) return step;
      step.kind = StepKind::body;
      step.consumed = size;
      step.body = {data, size};
      return step;
    }
    default:
      return failure(state_, 502, "message is over");
  }
}

Step ResponseParser::end_of_stream() {
  state_.reusable = false;
  Step step;
  if (state_.phase == Phase::until_eof || state_.phase == Phase::complete ||
      (state_.phase == Phase::length && state_.remaining == 0)) {
    state_.phase = Phase::complete;
    step.kind = StepKind::complete;
    return step;
  }
  return failure(state_, 502, "stream ended before the message did");
}

}  // namespace smg::http1
