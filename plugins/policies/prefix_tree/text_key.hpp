// How a StringTree reads its input: text, cut between characters only.
//
// A character is a byte that does not continue one (in UTF-8: is not 10xxxxxx) and the bytes that
// continue it. In valid UTF-8 that is a Unicode scalar value. Any other bytes are taken as they
// come: a stray continuation belongs to what is before it, or is the first character. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace smg::prefix_tree {

struct TextKey {
  using Element = char;
  using Input = std::string_view;
  // Whether an insert marks its tenant as used on the whole path or only where the text ends.
  static constexpr bool kInsertTouchesPath = false;
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 30;

  // The part of a text that a tree keeps: all of it, up to kMaxBytes.
  Input storable(Input text) const;

  // Characters of a text that begins and ends between two.
  uint64_t units(Input text) const;

  // A key of the first character, the same for the same one. REQUIRES: not empty.
  uint64_t first(Input text) const;

  // The bytes of the longest common beginning that ends between two characters of both.
  std::size_t common(Input a, Input b) const;
};

}  // namespace smg::prefix_tree
