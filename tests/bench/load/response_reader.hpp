// Incremental reader of HTTP/1.1 responses on one connection: status line, the three header fields that
// frame a message, then a body by length, by chunks or up to the close. Lenient on purpose, since it
// measures servers and does not judge them. Bodies are handed on as views of the caller's bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace smg::bench {

class ResponseReader {
 public:
  enum class Result { kMore, kComplete, kBad };

  /// Consumes from the front of `data` up to the end of one response. `on_body` gets every piece of the
  /// body, chunk framing removed. After kComplete the reader is ready for the next response.
  template <typename OnBody>
  Result feed(std::string_view& data, OnBody&& on_body);

  /// What an orderly close by the server means now.
  Result close() const;
  /// True before the first byte of a response.
  bool at_start() const { return state_ == State::kHead && line_.empty() && status_ == 0; }
  int status() const { return status_; }
  bool keep_alive() const { return keep_alive_; }
  void reset();

 private:
  enum class State { kHead, kBody, kUntilClose, kChunkSize, kChunkData, kChunkEnd, kTrailer };

  /// Moves one line, without its line break, from `data` to `line_`. False: not complete yet.
  bool take_line(std::string_view& data);
  Result head_line();
  Result end_of_head();
  Result chunk_size_line();

  State state_ = State::kHead;
  int status_ = 0;
  bool keep_alive_ = true;
  bool chunked_ = false;
  bool has_length_ = false;
  std::uint64_t remaining_ = 0;
  std::string line_;
};

template <typename OnBody>
ResponseReader::Result ResponseReader::feed(std::string_view& data, OnBody&& on_body) {
  if (state_ == State::kHead && status_ != 0 && line_.empty() && remaining_ == 0 && done_) {
    reset();
  }
  return Result::kMore;
}

}  // namespace smg::bench
