#pragma once
// A strict HTTP/1.1 request reader: fed with bytes as they come, in any split. Whatever a proxy and
// a server could understand differently is an error here, so that a request which reaches the
// engine through a gateway proves that the gateway wrote it unambiguously. Shares nothing with the
// gateway's own parser. Views in a Request point into the Request and live until the next reset().

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smg::sim {

struct HeaderField {
  std::string_view name;
  std::string_view value;
};

struct Request {
  std::string head;  // raw, from the request line to the blank line
  std::string_view method;
  std::string_view target;
  std::string_view path;
  std::string_view query;
  int minor_version = 1;
  bool keep_alive = true;
  bool expects_continue = false;
  std::vector<HeaderField> headers;
  std::string body;  // de-chunked

  // Empty when absent. `name` in lower case.
  std::string_view header(std::string_view name) const;
};

class RequestReader {
 public:
  enum class Event { NeedMore, Head, Complete, Error };
  static constexpr std::size_t kMaxHead = 256 * 1024;
  static constexpr std::uint64_t kMaxBody = std::uint64_t{2} << 30;

  // Consumes from the front of `input`. Head is returned once, Complete ends the request; NeedMore
  // means that all input is consumed. After Error nothing more can be read.
  Event feed(std::string_view& input);
  const Request& request() const { return request_; }
  const std::string& error() const { return error_; }
  bool in_request() const { return state_ != State::Head || !request_.head.empty(); }
  void reset();

 private:
  enum class State { Head, FixedBody, ChunkSize, ChunkData, ChunkEnd, Trailer, Done, Broken };

  Event feed_head(std::string_view& input);
  Event parse_head();
  bool parse_request_line(std::string_view line);
  bool parse_field(std::string_view line);
  bool parse_chunk_size();
  void take_body(std::string_view& input);
  // True when line_ holds a whole line without its CRLF.
  bool take_line(std::string_view& input);
  Event fail(std::string reason);

  State state_ = State::Head;
  Request request_;
  std::uint64_t remaining_ = 0;
  std::optional<std::uint64_t> length_;
  bool chunked_ = false;
  int hosts_ = 0;
  std::string line_;
  std::string error_;
};

}  // namespace smg::sim
