// The option `cache_boundaries`: the prompt lengths, in tokens, at which prompts are likely to
// share a prefix. For policies that tell prompts apart by their first tokens. Pure function, any
// thread.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "smg/cpp/error.hpp"

namespace smg {

inline constexpr std::size_t kMostCacheBoundaries = 256;  // each is hashed for every long prompt

// Reads "1024,4096": strictly ascending integers above 0 with commas between, blanks around them
// allowed; an empty list has none. Throws smg::Error that names the first item that is wrong.
inline std::vector<uint32_t> parse_cache_boundaries(std::string_view list) {
  constexpr std::string_view kBlanks = " \t";
  std::vector<uint32_t> boundaries;
  if (list.find_first_not_of(kBlanks) == list.npos) return boundaries;
  for (std::string_view rest = list;;) {
    const std::size_t comma = rest.find(',');
    std::string_view item = rest.substr(0, comma);
    item.remove_prefix(std::min(item.find_first_not_of(kBlanks), item.size()));
    item = item.substr(0, item.find_last_not_of(kBlanks) + 1);
    uint32_t boundary = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), boundary);
    const bool number = error == std::errc() && end == item.data() + item.size();
    if (!number || boundary == 0 || (!boundaries.empty() && boundary <= boundaries.back())) {
      throw Error(SMG_E_INVALID,
                  "cache_boundaries = \"" + std::string(list) + "\": the item \"" +
                      std::string(item) +
                      "\" is wrong, they must be integers from 1 to 4294967295, each above the one "
                      "before it");
    }
    if (boundaries.size() == kMostCacheBoundaries) {
      throw Error(SMG_E_INVALID, "cache_boundaries: has more than " +
                                     std::to_string(kMostCacheBoundaries) + " items");
    }
    boundaries.push_back(boundary);
    if (comma == rest.npos) return boundaries;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace smg
