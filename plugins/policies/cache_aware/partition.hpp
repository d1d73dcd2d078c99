// Cache namespaces in the prefix trees: a key is a marker and the prompt.
//
// The marker of a text is U+0001, the 16 hex digits of the namespace's hash, U+0001; that of token
// ids is 62 bits of the hash in two ids with bit 31 set, filled up with 0x80000000 to whole pages,
// so that the prompt's pages stay where they are. The common namespace has no marker, and a prompt
// in it is stripped of what a marker could begin with: no client writes itself into another's
// namespace. Lengths of markers do not count in what matched.
//
// Pure functions; the room is the caller's and is kept between calls.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hashes.hpp"

namespace cache_aware {

// What a tree is asked for. `key` points into the prompt or into the caller's room.
template <class Input>
struct PartitionedKey {
  Input key;
  uint64_t marker = 0;  // units of it at the beginning of `key`
};

constexpr std::size_t kTextMarker = 18;

inline PartitionedKey<std::string_view> text_key(std::string_view prompt,
                                                 std::string_view name_space, std::string& room) {
  if (name_space.empty()) {
    const std::size_t start = prompt.find_first_not_of('\x01');
    return {start == std::string_view::npos ? std::string_view() : prompt.substr(start), 0};
  }
  const uint64_t hash = namespace_hash(name_space);
  room.clear();
  room.reserve(kTextMarker + prompt.size());
  room.push_back('\x01');
  for (int shift = 60; shift >= 0; shift -= 4) {
    room.push_back("0123456789abcdef"[(hash >> shift) & 0xf]);
  }
  room.push_back('\x01');
  room.append(prompt);
  return {room, kTextMarker};
}

// REQUIRES: page_size > 0.
inline PartitionedKey<std::span<const uint32_t>> token_key(std::span<const uint32_t> prompt,
                                                           std::string_view name_space,
                                                           uint32_t page_size,
                                                           std::vector<uint32_t>& room) {
  constexpr uint32_t kMark = 0x80000000u;
  if (name_space.empty()) {
    std::size_t start = 0;
    while (start < prompt.size() && (prompt[start] & kMark) != 0) ++start;
    return {prompt.subspan(start), 0};
  }
  const uint64_t hash = namespace_hash(name_space);
  const std::size_t marker = page_size == 1 ? 2 : page_size;
  room.assign(marker, kMark);
  room[0] |= static_cast<uint32_t>(hash >> 31);
  room[1] |= static_cast<uint32_t>(hash);
  room.insert(room.end(), prompt.begin(), prompt.end());
  return {room, marker};
}

}  // namespace cache_aware
