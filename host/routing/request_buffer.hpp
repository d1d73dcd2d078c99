// What one request brings along: forwarded headers, body, and the form in which a transport takes
// them.
//
// Pooled per loop and reused, so a small request allocates nothing. Given back as soon as it cannot
// be needed for another attempt, which for a stream is when its answer begins.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/bytes.hpp"
#include "host/base/views.hpp"
#include "smg/transport.h"

namespace smg {

class RequestBuffer {
 public:
  static constexpr std::size_t kKeptBody = 16 * 1024;
  static constexpr std::size_t kKeptHeaders = 8 * 1024;

  enum class Use : std::uint8_t {
    forward,
    routing
  };  // routing: seen by policies that ask for headers, not sent on

  // Names and values are copied; seal_headers() makes the views.
  void add_header(std::string_view name, std::string_view value, Use use) {
    marks_.push_back({text_.size(), name.size(), value.size(), use});
    text_.append(name).append(value);
  }
  void seal_headers() {
    forwarded_.clear();
    all_.clear();
    for (const Mark& mark : marks_) {
      const char* at = text_.data() + mark.offset;
      const smg_header header{{at, mark.name}, {at + mark.name, mark.value}};
      if (mark.use == Use::forward) forwarded_.push_back(header);
      all_.push_back(header);
    }
  }
  // The field of that name as the client sent it; empty: none. REQUIRES: sealed.
  std::string_view find(std::string_view name) const {
    for (const auto& header : all_) {
      if (equals_ignoring_case(text(header.name), name)) return text(header.value);
    }
    return {};
  }
  const std::vector<smg_header>& all() const { return all_; }
  std::vector<smg_header>& forwarded() { return forwarded_; }

  Bytes body;
  std::vector<smg_view> pieces;  // of the body as it goes out
  std::string scratch;           // what edits insert
  smg_request request{};

  void reset() {
    if (body.capacity() > kKeptBody) {
      body.release();
    } else {
      body.clear();
    }
    if (text_.capacity() > kKeptHeaders) std::string().swap(text_);
    text_.clear();
    marks_.clear();
    forwarded_.clear();
    all_.clear();
    pieces.clear();
    scratch.clear();
  }

 private:
  struct Mark {
    std::size_t offset, name, value;
    Use use;
  };
  std::string text_;
  std::vector<Mark> marks_;
  std::vector<smg_header> forwarded_;
  std::vector<smg_header> all_;
};

}  // namespace smg
