// Counts the tokens of one streamed chat completion: server-sent events whose `data:` line has a
// non-empty "content". Works on pieces cut anywhere. One per stream.
#pragma once

#include <string>
#include <string_view>

namespace smg::bench {

class SseCounter {
 public:
  /// Returns the number of tokens that this piece completed.
  unsigned feed(std::string_view piece);
  /// True once the closing `data: [DONE]` was seen.
  bool done() const { return done_; }
  void reset();

 private:
  bool is_token(std::string_view line);

  std::string partial_;
  bool done_ = false;
};

}  // namespace smg::bench
