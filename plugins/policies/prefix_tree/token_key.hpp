// How a TokenTree reads its input: token ids, in whole pages.
//
// Any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace smg::prefix_tree {

class TokenKey {
 public:
  using Element = uint32_t;
  using Input = std::span<const uint32_t>;
  static constexpr bool kInsertTouchesPath = true;
  static constexpr std::size_t kMaxTokens = std::size_t{1} << 28;

  // A page size of 0 is taken for 1.
  TokenKey(uint32_t page_size = 16) : page_size_(std::max(page_size, 1u)) {}

  Input storable(Input tokens) const {
    return tokens.first(whole_pages(std::min(tokens.size(), kMaxTokens)));
  }
  uint64_t units(Input tokens) const { return tokens.size(); }

  // The digest of the first page. REQUIRES: at least a page. Not unique: compare too.
  uint64_t first(Input tokens) const {
    uint64_t digest = 0;
    for (const uint32_t token : tokens.first(page_size_)) {
      digest = (digest + token) * 0x517cc1b727220a95u;
    }
    return digest;
  }

  // The tokens of the longest common beginning, in whole pages.
  std::size_t common(Input a, Input b) const {
    constexpr std::size_t kBlock = 128;
    const std::size_t size = std::min(a.size(), b.size());
    std::size_t at = 0;
    while (size - at >= kBlock &&
           std::memcmp(a.data() + at, b.data() + at, kBlock * sizeof(Element)) == 0) {
      at += kBlock;
    }
    while (at < size && a[at] == b[at]) ++at;
    return whole_pages(at);
  }

 private:
  std::size_t whole_pages(std::size_t tokens) const { return tokens - tokens % page_size_; }

  uint32_t page_size_;
};

}  // namespace smg::prefix_tree
