// What one request brings along: forwarded headers, body, and the form in which a transport takes them.
//
// Pooled per loop and reused, so a small request allocates nothing. Given back as soon as it cannot be needed for
// another attempt, which for a stream is when its answer begins.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/bytes.hpp"
#include "smg/transport.h"

namespace smg {

class RequestBuffer {
 public:
  static constexpr std::size_t kKeptBody = 16 * 1024;
  static constexpr std::size_t kKeptHeaders = 8 * 1024;

  // Header names and values are copied; seal_headers() makes the views.
  void add_header(std::string_view name, std::string_view value) {
    marks_.push_back({text_.size(), name.size(), value.size()});
    text_.append(name).append(value);
  }
  void seal_headers() {
    headers_.clear();
    for (const Mark& mark : marks_) {
      const char* at = text_.data() + mark.offset;
      headers_.push_back({{at, mark.name}, {at + mark.name, mark.value}});
    }
  }
  const std::vector<smg_header>& headers() const { return headers_; }
  std::vector<smg_header>& headers() { return headers_; }

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
    if (text_.capacity() > kKeptHeaders) text_ = std::string();
    text_.clear();
    marks_.clear();
    headers_.clear();
    pieces.clear();
    scratch.clear();
  }

 private:
  struct Mark {
    std::size_t offset, name, value;
  };
  std::string text_;
  std::vector<Mark> marks_;
  std::vector<smg_header> headers_;
};

}  // namespace smg
