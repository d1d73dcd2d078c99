// What a parser says about a run of bytes that comes in pieces, as text: the heads with their
// fields, the bodies, and how it ended. Two transcripts of the same bytes must be equal however the
// bytes were split.
//
// Before each step the bytes move to memory of their own and of their exact size, so that a
// sanitizer sees a view that was kept, and a read past the end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "smg/cpp/http1.hpp"

namespace smg::test {

// How bytes are split: into equal pieces, or into pieces of 1 to 9 bytes and now and then a long
// one.
class Pieces {
 public:
  static Pieces whole() { return Pieces(SIZE_MAX, 0); }
  static Pieces of(std::size_t size) { return Pieces(size, 0); }
  static Pieces random(std::uint64_t seed) { return Pieces(0, seed * 2 + 1); }

  std::size_t next() {
    if (size_ > 0) return size_;
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    const auto dice = static_cast<std::size_t>(state_ >> 33);
    return dice % 8 == 0 ? 1 + dice / 8 % 300 : 1 + dice / 8 % 9;
  }

 private:
  Pieces(std::size_t size, std::uint64_t state) : size_(size), state_(state) {}

  std::size_t size_;
  std::uint64_t state_;
};

inline void append_fields(std::string& out, std::span<const http1::Field> fields) {
  for (const http1::Field& field : fields) {
    out.append(field.name).append("=").append(field.value).append("\n");
  }
}

template <class Head>
void append_framing(std::string& out, const Head& head) {
  out.append(head.http10 ? " 1.0" : " 1.1");
  if (!head.keep_alive) out.append(" close");
  if (head.chunked) out.append(" chunked");
  if (head.content_length >= 0) out.append(" length=" + std::to_string(head.content_length));
}

inline void append_head(std::string& out, const http1::RequestHead& head) {
  out.append(head.method).append(" ").append(head.target);
  append_framing(out, head);
  if (head.expect_continue) out.append(" expect-continue");
  out.append("\n");
  append_fields(out, head.fields);
}

inline void append_head(std::string& out, const http1::ResponseHead& head) {
  out.append(std::to_string(head.status)).append(" ").append(head.reason);
  append_framing(out, head);
  out.append("\n");
  append_fields(out, head.fields);
}

// `make(std::optional<Parser>&)` constructs a parser for the next message. With `many`, messages
// follow each other; without, the bytes behind the first are named as left over.
template <class Parser, class Scratch, class Make>
std::string transcribe(std::string_view bytes, Pieces pieces, Make make, bool many,
                       bool ends = false) {
  std::string out;
  std::string body;
  std::optional<Parser> parser;
  make(parser);
  std::size_t from = 0;
  std::size_t to = 0;
  for (;;) {
    const std::size_t size = to - from;
    const std::unique_ptr<char[]> shown(new char[size]);
    std::memcpy(shown.get(), bytes.data() + from, size);
    Scratch scratch;
    http1::Step step = parser->next(shown.get(), size, scratch);
    if (step.kind == http1::StepKind::need_more && to == bytes.size()) {
      if (!ends) return out + body + "\nneeds more";
      from += step.consumed;
      if constexpr (requires { parser->end_of_stream(); }) step = parser->end_of_stream();
    }
    switch (step.kind) {
      case http1::StepKind::need_more:
        to += std::min(pieces.next(), bytes.size() - to);
        break;
      case http1::StepKind::head:
        append_head(out, scratch.head);
        break;
      case http1::StepKind::body:
        body.append(step.body);
        break;
      case http1::StepKind::complete:
        out += body + "\ncomplete";
        body.clear();
        if constexpr (requires { parser->reusable(); }) {
          if (!parser->reusable()) out += ", not reusable";
        }
        from += step.consumed;
        if (!many) return out + ", left over " + std::to_string(bytes.size() - from);
        out += "\n";
        make(parser);
        continue;
      case http1::StepKind::error:
        return out + body + "\nerror " + std::to_string(step.status);
    }
    from += step.consumed;
  }
}

// Two transcripts of the same bytes say the same: they are equal, or both end in the same error and
// differ in how much of the broken body came before its fault was seen.
inline bool agree(std::string_view one, std::string_view other) {
  if (one == other) return true;
  const std::size_t end = one.rfind('\n');
  const std::size_t other_end = other.rfind('\n');
  if (one.substr(end) != other.substr(other_end) || !one.substr(end).starts_with("\nerror")) {
    return false;
  }
  one = one.substr(0, end);
  other = other.substr(0, other_end);
  return one.starts_with(other) || other.starts_with(one);
}

inline std::string transcribe_requests(std::string_view bytes, Pieces pieces,
                                       const http1::Limits& limits = {}) {
  const auto make = [&](std::optional<http1::RequestParser>& parser) { parser.emplace(limits); };
  return transcribe<http1::RequestParser, http1::RequestScratch>(bytes, pieces, make, true);
}

struct Answering {
  http1::Limits limits = {};
  bool head_request = false;
  bool ends = false;  // the stream ends behind the bytes
};

inline std::string transcribe_response(std::string_view bytes, Pieces pieces,
                                       const Answering& how = {}) {
  const auto make = [&](std::optional<http1::ResponseParser>& parser) {
    parser.emplace(how.limits, how.head_request);
  };
  return transcribe<http1::ResponseParser, http1::ResponseScratch>(bytes, pieces, make, false,
                                                                   how.ends);
}

}  // namespace smg::test
