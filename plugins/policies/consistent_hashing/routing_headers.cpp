#include "routing_headers.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "smg/cpp/view.hpp"

namespace consistent_hashing {
namespace {

constexpr std::size_t kMaxRoutingKey = 128;
// The last three are in the order in which they are looked for.
constexpr std::array<std::string_view, 5> kNames = {"x-smg-target-worker", "x-smg-routing-key",
                                                    "authorization", "x-forwarded-for", "cookie"};

bool is_name(std::string_view name, std::string_view lower_case) {
  return std::equal(
      name.begin(), name.end(), lower_case.begin(), lower_case.end(),
      [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; });
}

// As header libraries mean it: blanks count.
bool is_visible_ascii(std::string_view value) {
  return std::all_of(value.begin(), value.end(),
                     [](char c) { return (c >= ' ' && c <= '~') || c == '\t'; });
}

}  // namespace

RoutingHeaders read_headers(std::span<const smg_header> headers) {
  std::array<std::optional<std::string_view>, kNames.size()> found;
  for (const smg_header& header : headers) {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      if (!found[i] && is_name(smg::text(header.name), kNames[i])) {
        found[i] = smg::text(header.value);
        break;
      }
    }
  }
  RoutingHeaders result;
  if (found[0] && !found[0]->empty() && is_visible_ascii(*found[0])) {
    result.target_worker = found[0];
  }
  if (found[1] && found[1]->size() <= kMaxRoutingKey && is_utf8(*found[1])) {
    result.routing_key = *found[1];
  }
  for (std::size_t i = 2; i < found.size(); ++i) {
    if (!found[i]) continue;
    if (is_visible_ascii(*found[i])) result.implicit_key = *found[i];
    break;
  }
  return result;
}

std::optional<uint32_t> parse_index(std::string_view value) {
  if (value.starts_with('+')) value.remove_prefix(1);
  uint32_t index = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, index);
  if (error != std::errc() || stop != end) return std::nullopt;
  return index;
}

bool is_utf8(std::string_view value) {
  for (std::size_t i = 0; i < value.size();) {
    const auto lead = static_cast<unsigned char>(value[i++]);
    if (lead < 0x80) continue;
    const std::size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || value.size() - i < more) return false;
    // Behind some leads the next byte has less room: nothing overlong, no surrogate, no number
    // above 10ffff.
    unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    for (std::size_t j = 0; j < more; ++j, low = 0x80, high = 0xbf) {
      const auto next = static_cast<unsigned char>(value[i++]);
      if (next < low || next > high) return false;
    }
  }
  return true;
}

}  // namespace consistent_hashing
