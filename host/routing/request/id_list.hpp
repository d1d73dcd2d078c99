// Lists of token ids as text: "12, 7,65535". Pure function, any thread.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace smg {

inline constexpr std::size_t kAnyNumberOfIds = std::numeric_limits<std::size_t>::max();

// Appends the decimal 32-bit ids of `list`, which have commas between and may have white space
// around. False, with `ids` as it was, for an empty list, more than `limit` ids, or anything that
// is not an id.
inline bool append_id_list(std::string_view list, std::size_t limit,
                           std::vector<std::uint32_t>& ids) {
  const std::size_t before = ids.size();
  const char* at = list.data();
  const char* const end = at + list.size();
  const auto skip_space = [&] {
    while (at != end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) ++at;
  };
  for (;;) {
    skip_space();
    std::uint32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc() || ids.size() - before == limit) break;
    ids.push_back(id);
    at = next;
    skip_space();
    if (at == end) return true;
    if (*at++ != ',') break;
  }
  ids.resize(before);
  return false;
}

}  // namespace smg
