// Incremental reader of one HTTP/1.1 response: status line, the header fields that frame a message,
// then a body by length, by chunks or up to the close. Lenient on purpose: it measures servers and
// does not judge them. Bodies are handed on as views of the caller's bytes. `reset` before every
// response.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace smg::bench {

class ResponseReader {
 public:
  enum class Result { kMore, kComplete, kBad };

  /// Consumes from the front of `data` up to the end of the response. `on_body` gets every piece of
  /// the body, chunk framing removed.
  template <typename OnBody>
  Result feed(std::string_view& data, OnBody&& on_body);

  /// What the server's orderly close means at this point: kComplete or kBad.
  Result close() const;
  int status() const { return status_; }
  bool keep_alive() const { return keep_alive_; }
  void reset();

 private:
  enum class State { kHead, kBody, kChunkSize, kChunkData, kChunkEnd, kTrailer };

  /// Moves one line, without its line break, from `data` to `line_`. False: not all of it is there.
  bool take_line(std::string_view& data);
  Result head_line();
  Result end_of_head();
  Result chunk_size_line();

  static constexpr std::uint64_t kUntilClose = std::numeric_limits<std::uint64_t>::max();

  State state_ = State::kHead;
  int status_ = 0;
  bool keep_alive_ = true;
  bool chunked_ = false;
  std::uint64_t remaining_ = kUntilClose;
  std::string line_;
  bool line_done_ = false;
};

template <typename OnBody>
ResponseReader::Result ResponseReader::feed(std::string_view& data, OnBody&& on_body) {
  while (!data.empty()) {
    if (state_ == State::kBody || state_ == State::kChunkData) {
      const auto piece = data.substr(0, std::min<std::uint64_t>(remaining_, data.size()));
      data.remove_prefix(piece.size());
      if (remaining_ != kUntilClose) remaining_ -= piece.size();
      on_body(piece);
      if (remaining_ != 0) continue;
      if (state_ == State::kBody) return Result::kComplete;
      state_ = State::kChunkEnd;
      continue;
    }
    if (!take_line(data)) return Result::kMore;
    Result result = Result::kMore;
    switch (state_) {
      case State::kHead:
        result = line_.empty() ? end_of_head() : head_line();
        break;
      case State::kChunkSize:
        result = chunk_size_line();
        break;
      case State::kChunkEnd:
        state_ = State::kChunkSize;
        if (!line_.empty()) result = Result::kBad;
        break;
      default:
        if (line_.empty()) result = Result::kComplete;
        break;
    }
    if (result != Result::kMore) return result;
  }
  return Result::kMore;
}

}  // namespace smg::bench
