#include "sse_counter.hpp"

namespace smg::bench {

void SseCounter::reset() {
  partial_.clear();
  done_ = false;
}

unsigned SseCounter::feed(std::string_view piece) {
  unsigned tokens = 0;
  for (;;) {
    const auto end = piece.find('\n');
    if (end == std::string_view::npos) {
      partial_ += piece;
      return tokens;
    }
    if (partial_.empty()) {
      tokens += is_token(piece.substr(0, end)) ? 1 : 0;
    } else {
      partial_ += piece.substr(0, end);
      tokens += is_token(partial_) ? 1 : 0;
      partial_.clear();
    }
    piece.remove_prefix(end + 1);
  }
}

bool SseCounter::is_token(std::string_view line) {
  constexpr std::string_view kData = "data:";
  constexpr std::string_view kContent = "\"content\":";
  if (!line.starts_with(kData)) return false;
  line.remove_prefix(kData.size());
  if (line.size() < 16 && line.find("[DONE]") != std::string_view::npos) {
    done_ = true;
    return false;
  }
  const auto at = line.find(kContent);
  if (at == std::string_view::npos) return false;
  line.remove_prefix(at + kContent.size());
  const auto quote = line.find_first_not_of(' ');
  return quote != std::string_view::npos && line[quote] == '"' && quote + 1 < line.size() &&
         line[quote + 1] != '"';
}

}  // namespace smg::bench
