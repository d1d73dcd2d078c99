#include "response_reader.hpp"

#include <strings.h>

#include <charconv>

namespace smg::bench {
namespace {

constexpr std::size_t kMaxLine = std::size_t{64} * 1024;

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

template <typename Number>
bool parse(std::string_view text, Number& value, int base = 10) {
  return std::from_chars(text.data(), text.data() + text.size(), value, base).ec == std::errc{};
}

}  // namespace

void ResponseReader::reset() {
  state_ = State::kHead;
  status_ = 0;
  keep_alive_ = true;
  chunked_ = false;
  remaining_ = kUntilClose;
  line_.clear();
  line_done_ = false;
}

bool ResponseReader::take_line(std::string_view& data) {
  if (line_done_) {
    line_.clear();
    line_done_ = false;
  }
  const auto end = data.find('\n');
  line_ += data.substr(0, end);
  if (end == std::string_view::npos) {
    data = {};
    return false;
  }
  data.remove_prefix(end + 1);
  if (!line_.empty() && line_.back() == '\r') line_.pop_back();
  line_done_ = true;
  return true;
}

ResponseReader::Result ResponseReader::head_line() {
  const std::string_view line = line_;
  if (line.size() > kMaxLine) return Result::kBad;
  if (status_ == 0) {
    if (!line.starts_with("HTTP/1.") || line.size() < 12) return Result::kBad;
    keep_alive_ = line[7] == '1';
    return parse(line.substr(9, 3), status_) ? Result::kMore : Result::kBad;
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return Result::kBad;
  const auto name = line.substr(0, colon);
  auto value = line.substr(colon + 1);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  if (same_name(name, "content-length")) {
    if (!parse(value, remaining_)) return Result::kBad;
  } else if (same_name(name, "transfer-encoding")) {
    chunked_ = same_name(value, "chunked");
  } else if (same_name(name, "connection")) {
    if (same_name(value, "close")) keep_alive_ = false;
    if (same_name(value, "keep-alive")) keep_alive_ = true;
  }
  return Result::kMore;
}

ResponseReader::Result ResponseReader::end_of_head() {
  if (status_ == 0) return Result::kBad;
  if (status_ < 200) {  // an interim response: the real one follows
    reset();
    return Result::kMore;
  }
  state_ = chunked_ ? State::kChunkSize : State::kBody;
  if (!chunked_ && (status_ == 204 || status_ == 304)) remaining_ = 0;
  if (!chunked_ && remaining_ == kUntilClose) keep_alive_ = false;
  return !chunked_ && remaining_ == 0 ? Result::kComplete : Result::kMore;
}

ResponseReader::Result ResponseReader::chunk_size_line() {
  if (!parse(line_, remaining_, 16)) return Result::kBad;
  state_ = remaining_ == 0 ? State::kTrailer : State::kChunkData;
  return Result::kMore;
}

ResponseReader::Result ResponseReader::close() const {
  const bool by_close = state_ == State::kBody && remaining_ == kUntilClose;
  return by_close ? Result::kComplete : Result::kBad;
}

}  // namespace smg::bench
