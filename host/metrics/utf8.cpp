#include "host/metrics/utf8.hpp"

namespace smg {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Length of the valid sequence at the beginning of `text`, or 0.
std::size_t sequence_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xbf;
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2;
  } else if ((lead & 0xf0) == 0xe0) {
    length = 3;
    if (lead == 0xe0) low = 0xa0;   // no overlong forms
    if (lead == 0xed) high = 0x9f;  // no surrogates
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
  }
  if (length == 0 || text.size() < length || at(1) < low || at(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

std::string valid_utf8(std::string_view text, std::size_t limit) {
  std::string result;
  result.reserve(text.size() < limit ? text.size() : limit);
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const std::string_view piece = length == 0 ? kReplacement : text.substr(0, length);
    if (result.size() + piece.size() > limit) break;
    result += piece;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace smg
