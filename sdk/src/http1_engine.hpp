// Engine: Boost.Beast's grammar of HTTP/1.1 with our rules in its callbacks.
//
// Beast alone takes messages that have two readings: `Transfer-Encoding: xchunked` as an empty
// body, `Content-Length: 5,5`, a quoted line feed in a chunk extension. Included by one source file
// only, for Beast's headers are large.
#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <type_traits>

#include "http1_rules.hpp"
#include "smg/cpp/http1.hpp"

namespace smg::http1 {

namespace beast = boost::beast;
namespace http = boost::beast::http;

enum class Problem : std::uint8_t {
  none,
  grammar,
  method,
  target,
  fields,
  framing,
  length,
  host,
  expectation,
  too_large,
  chunk_line,
  trailers,
};

// What one put() reads and writes besides the parser itself.
template <class Head>
struct Call {
  detail::State& state;
  Scratch<Head>* scratch = nullptr;  // while the head is parsed
  const char* chunk_line = nullptr;  // where it begins
  const char* trailers = nullptr;    // where they begin
  std::string_view piece = {};       // of the body
  Problem problem = Problem::none;   // why put() failed, if Beast is not the one who knows
  std::uint8_t hosts = 0;
  std::uint8_t lengths = 0;
  std::uint8_t encodings = 0;
  std::uint8_t trailer_count = 0;
  bool closing = false;
};

template <bool kRequest>
class Engine final : public http::basic_parser<kRequest> {
 public:
  using Head = std::conditional_t<kRequest, RequestHead, ResponseHead>;

  Engine() {
    this->header_limit(UINT32_MAX);  // it bounds one put() only; scan_head() bounds the head
    this->body_limit(boost::none);   // it sums up chunks; on_chunk_header_impl() does so as well
  }

  Call<Head>* call = nullptr;

 private:
  using error_code = beast::error_code;

  static std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

  void fail(Problem what, error_code& ec) {
    call->problem = what;
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
      RequestHead& head = call->scratch->head;
      head.method = view(method);
      head.target = view(target);
      head.http10 = version == 10;
      if (!normalise_target(head.target, verb == http::verb::options)) fail(Problem::target, ec);
    }
  }

  void on_response_impl(int code, beast::string_view reason, int version, error_code& ec) override {
    if constexpr (!kRequest) {
      if (code < 100 || code > 599) return fail(Problem::grammar, ec);
      ResponseHead& head = call->scratch->head;
      head.status = static_cast<unsigned>(code);
      head.reason = view(reason);
      head.http10 = version == 10;
    }
  }

  void on_field_impl(http::field field, beast::string_view name, beast::string_view value,
                     error_code& ec) override {
    if (call->scratch == nullptr) {
      if (++call->trailer_count > kMaxFields) fail(Problem::trailers, ec);
      return;
    }
    Scratch<Head>& scratch = *call->scratch;
    if (scratch.count == kMaxFields) return fail(Problem::fields, ec);
    scratch.fields[scratch.count++] = {view(name), view(value)};
    switch (field) {
      case http::field::content_length:
        if (++call->lengths > 1) return fail(Problem::framing, ec);
        if (!is_number(view(value))) return fail(Problem::length, ec);
        break;
      case http::field::transfer_encoding:
        if (++call->encodings > 1 || !equals_ignoring_case(view(value), "chunked")) {
          return fail(Problem::framing, ec);
        }
        break;
      case http::field::connection:
        if (http::token_list{value}.exists("close")) call->closing = true;
        break;
      case http::field::host:
        if (kRequest && ++call->hosts > 1) return fail(Problem::host, ec);
        break;
      case http::field::expect:
        if constexpr (kRequest) {
          if (!equals_ignoring_case(view(value), "100-continue")) {
            return fail(Problem::expectation, ec);
          }
          scratch.head.expect_continue = !scratch.head.http10;  // 1.0 has no interim answers
        }
        break;
      default:
        break;
    }
  }

  void on_header_impl(error_code& ec) override {
    Head& head = call->scratch->head;
    if (call->lengths + call->encodings > 1) return fail(Problem::framing, ec);
    if (call->encodings > 0 && head.http10) return fail(Problem::framing, ec);
    if (kRequest && !head.http10 && call->hosts != 1) return fail(Problem::host, ec);
    if (call->lengths > 0) {
      const std::uint64_t length = this->content_length().value_or(UINT64_MAX);
      if (length > INT64_MAX) return fail(Problem::length, ec);
      head.content_length = static_cast<std::int64_t>(length);
    }
    head.chunked = call->encodings > 0;
    head.keep_alive = this->keep_alive() && !call->closing;
    head.fields = {call->scratch->fields.data(), call->scratch->count};
  }

  void on_chunk_header_impl(std::uint64_t size, beast::string_view extension,
                            error_code& ec) override {
    const char* line_end = extension.data() + extension.size() + 2;
    detail::State& message = call->state;
    if (static_cast<std::size_t>(line_end - call->chunk_line) > message.limits.max_chunk_line) {
      return fail(Problem::chunk_line, ec);
    }
    if (has_control_byte(view(extension))) return fail(Problem::grammar, ec);
    if (size > message.limits.max_body - message.announced) return fail(Problem::too_large, ec);
    if (size == 0) call->trailers = line_end;
    message.announced += size;
    message.remaining = size;
    message.any_chunk = true;
  }

  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view body, error_code&) override {
    call->piece = view(body);
    call->state.remaining -= body.size();
    return body.size();
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  // Bodies that are not chunked never come here: they need no grammar.
  std::size_t on_body_impl(beast::string_view body, error_code&) override { return body.size(); }
  void on_finish_impl(error_code&) override {}
};

}  // namespace smg::http1
