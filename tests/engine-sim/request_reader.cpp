#include "request_reader.hpp"

#include <algorithm>

namespace smg::sim {

namespace {

constexpr std::size_t kMaxLine = 4096;

bool is_token_char(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

bool is_field_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return u == '\t' || (u >= 0x20 && u != 0x7f);
  });
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

bool same(std::string_view text, std::string_view lower_case) {
  return text.size() == lower_case.size() &&
         std::equal(text.begin(), text.end(), lower_case.begin(),
                    [](char a, char b) { return lower(a) == b; });
}

std::optional<std::uint64_t> parse_decimal(std::string_view text) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string_view Request::header(std::string_view name) const {
  for (const HeaderField& field : headers) {
    if (same(field.name, name)) return field.value;
  }
  return {};
}

void RequestReader::reset() {
  state_ = State::Head;
  request_.head.clear();
  request_.headers.clear();
  // A large body's buffer is given back; a small one's is reused.
  if (request_.body.capacity() > 64 * 1024) {
    request_.body = std::string();
  } else {
    request_.body.clear();
  }
  request_.keep_alive = true;
  request_.expects_continue = false;
  request_.query = {};
  remaining_ = 0;
  length_.reset();
  chunked_ = false;
  hosts_ = 0;
  line_.clear();
}

RequestReader::Event RequestReader::fail(std::string reason) {
  state_ = State::Broken;
  error_ = std::move(reason);
  return Event::Error;
}

RequestReader::Event RequestReader::feed(std::string_view& input) {
  while (true) {
    switch (state_) {
      case State::Head: {
        const Event event = feed_head(input);
        return event;
      }
      case State::FixedBody:
        take_body(input);
        if (remaining_ > 0) return Event::NeedMore;
        state_ = State::Done;
        return Event::Complete;
      case State::ChunkSize:
        if (!take_line(input)) return state_ == State::Broken ? Event::Error : Event::NeedMore;
        if (!parse_chunk_size()) return Event::Error;
        state_ = remaining_ == 0 ? State::Trailer : State::ChunkData;
        break;
      case State::ChunkData:
        take_body(input);
        if (remaining_ > 0) return Event::NeedMore;
        state_ = State::ChunkEnd;
        break;
      case State::ChunkEnd:
        if (!take_line(input)) return state_ == State::Broken ? Event::Error : Event::NeedMore;
        if (!line_.empty()) return fail("chunk data longer than its size");
        line_.clear();
        state_ = State::ChunkSize;
        break;
      case State::Trailer:
        if (!take_line(input)) return state_ == State::Broken ? Event::Error : Event::NeedMore;
        if (line_.empty()) {
          state_ = State::Done;
          return Event::Complete;
        }
        if (!is_token(std::string_view(line_).substr(0, line_.find(':'))) ||
            line_.find(':') == std::string::npos || !is_field_text(line_)) {
          return fail("bad trailer line");
        }
        line_.clear();
        break;
      case State::Done:
        return Event::Complete;
      case State::Broken:
        return Event::Error;
    }
  }
}

RequestReader::Event RequestReader::feed_head(std::string_view& input) {
  std::string& head = request_.head;
  const std::size_t before = head.size();
  const std::size_t take = std::min(input.size(), kMaxHead + 1 - before);
  head.append(input.substr(0, take));
  const std::size_t from = before < 3 ? 0 : before - 3;
  // A bare line feed or carriage return is refused as soon as it is seen, not at the blank line.
  for (std::size_t i = from; i < head.size(); ++i) {
    if (head[i] == '\n' && (i == 0 || head[i - 1] != '\r'))
      return fail("bare line feed in the head");
    if (i > 0 && head[i - 1] == '\r' && head[i] != '\n') {
      return fail("bare carriage return in the head");
    }
    if (head[i] == '\n' && i >= 3 && head[i - 2] == '\n') {
      input.remove_prefix(i + 1 - before);
      head.resize(i + 1);
      return parse_head();
    }
  }
  if (head.starts_with("\r\n")) return fail("empty line before the request line");
  if (head.size() > kMaxHead) return fail("head larger than 262144 bytes");
  input.remove_prefix(take);
  return Event::NeedMore;
}

RequestReader::Event RequestReader::parse_head() {
  std::string_view rest = request_.head;
  const auto next_line = [&rest] {
    const std::size_t end = rest.find("\r\n");
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 2);
    return line;
  };
  if (!parse_request_line(next_line())) return Event::Error;
  request_.keep_alive = request_.minor_version == 1;
  while (true) {
    const std::string_view line = next_line();
    if (line.empty()) break;
    if (!parse_field(line)) return Event::Error;
  }
  if (request_.minor_version == 1 && hosts_ == 0) return fail("no Host");
  if (chunked_ && length_) return fail("both Content-Length and Transfer-Encoding");
  if (chunked_) {
    state_ = State::ChunkSize;
  } else {
    remaining_ = length_.value_or(0);
    if (remaining_ > kMaxBody) return fail("body larger than 2 GiB");
    // Room for the padding that the JSON parser reads over.
    if (remaining_ > 0) {
      request_.body.reserve(std::min<std::uint64_t>(remaining_, std::uint64_t{1} << 20) + 64);
    }
    state_ = State::FixedBody;
  }
  return Event::Head;
}

bool RequestReader::parse_request_line(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    fail("request line without three parts");
    return false;
  }
  request_.method = line.substr(0, first);
  request_.target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(request_.method)) {
    fail("bad method");
    return false;
  }
  const bool visible = std::all_of(request_.target.begin(), request_.target.end(),
                                   [](char c) { return c > 0x20 && c < 0x7f && c != '#'; });
  if (!visible || request_.target.empty() || request_.target.front() != '/') {
    fail("bad request target");
    return false;
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    fail("bad version");
    return false;
  }
  request_.minor_version = version.back() - '0';
  const std::size_t mark = request_.target.find('?');
  request_.path = request_.target.substr(0, mark);
  request_.query =
      mark == std::string_view::npos ? std::string_view{} : request_.target.substr(mark + 1);
  return true;
}

bool RequestReader::parse_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  if (colon == std::string_view::npos || !is_token(name)) {
    fail("bad header name");
    return false;
  }
  const std::string_view value = trim(line.substr(colon + 1));
  if (!is_field_text(value)) {
    fail("control byte in a header value");
    return false;
  }
  request_.headers.push_back({name, value});
  if (same(name, "host")) {
    if (++hosts_ > 1) fail("more than one Host");
  } else if (same(name, "content-length")) {
    if (length_) fail("more than one Content-Length");
    length_ = parse_decimal(value);
    if (!length_) fail("bad Content-Length");
  } else if (same(name, "transfer-encoding")) {
    if (chunked_) fail("more than one Transfer-Encoding");
    if (!same(value, "chunked")) fail("Transfer-Encoding other than chunked");
    if (request_.minor_version == 0) fail("Transfer-Encoding on HTTP/1.0");
    chunked_ = true;
  } else if (same(name, "connection")) {
    if (same(value, "close")) request_.keep_alive = false;
    if (same(value, "keep-alive")) request_.keep_alive = true;
  } else if (same(name, "expect")) {
    request_.expects_continue = same(value, "100-continue");
  }
  return state_ != State::Broken;
}

bool RequestReader::take_line(std::string_view& input) {
  const std::size_t end = input.find('\n');
  const std::size_t take = end == std::string_view::npos ? input.size() : end + 1;
  line_.append(input.substr(0, take));
  input.remove_prefix(take);
  const std::size_t cr = line_.find('\r');
  if (end == std::string_view::npos) {
    if (line_.size() > kMaxLine) fail("chunk line too long");
    if (cr != std::string::npos && cr + 1 < line_.size())
      fail("bare carriage return in a chunk line");
    return false;
  }
  if (line_.size() < 2 || cr != line_.size() - 2) {
    fail("chunk line does not end in CRLF");
    return false;
  }
  line_.resize(cr);
  return true;
}

bool RequestReader::parse_chunk_size() {
  std::string_view line = line_;
  const std::string_view digits = trim(line.substr(0, line.find(';')));
  if (digits.empty() || digits.size() > 8 || digits.front() != line.front() ||
      !is_field_text(line)) {
    fail("bad chunk size");
    return false;
  }
  remaining_ = 0;
  for (const char c : digits) {
    const char l = lower(c);
    if (!((l >= '0' && l <= '9') || (l >= 'a' && l <= 'f'))) {
      fail("bad chunk size");
      return false;
    }
    remaining_ = remaining_ * 16 + static_cast<std::uint64_t>(l <= '9' ? l - '0' : l - 'a' + 10);
  }
  if (request_.body.size() + remaining_ > kMaxBody) {
    fail("body larger than 2 GiB");
    return false;
  }
  line_.clear();
  return true;
}

void RequestReader::take_body(std::string_view& input) {
  const std::size_t take =
      static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, input.size()));
  request_.body.append(input.substr(0, take));
  input.remove_prefix(take);
  remaining_ -= take;
}

}  // namespace smg::sim
