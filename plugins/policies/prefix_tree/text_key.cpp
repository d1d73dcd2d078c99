#include "text_key.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace smg::prefix_tree {
namespace {

bool continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

bool between_characters(std::string_view text, std::size_t at) {
  return at == 0 || at >= text.size() || !continues(text[at]);
}

// As vectors of bytes, because -O2 makes none of a loop whose length it does not know.
using Bytes = signed char __attribute__((vector_size(32)));

uint64_t sum(const Bytes& counts) {
  uint64_t total = 0;
  for (std::size_t i = 0; i < sizeof counts; ++i) total += static_cast<uint64_t>(counts[i]);
  return total;
}

uint64_t continuations(std::string_view text) {
  constexpr std::size_t kRounds = 127;  // until a byte of the counts is full
  constexpr signed char kLast = -65;    // 10111111, the greatest continuation
  uint64_t total = 0;
  while (text.size() >= sizeof(Bytes)) {
    const std::size_t rounds = std::min(kRounds, text.size() / sizeof(Bytes));
    Bytes counts{};
    for (std::size_t i = 0; i < rounds; ++i) {
      Bytes bytes;
      std::memcpy(&bytes, text.data() + i * sizeof bytes, sizeof bytes);
      counts -= bytes <= kLast;
    }
    total += sum(counts);
    text.remove_prefix(rounds * sizeof(Bytes));
  }
  for (const char byte : text) total += continues(byte) ? 1 : 0;
  return total;
}

std::size_t equal_bytes(const char* a, const char* b, std::size_t size) {
  constexpr std::size_t kBlock = 512;
  std::size_t at = 0;
  while (size - at >= kBlock && std::memcmp(a + at, b + at, kBlock) == 0) at += kBlock;
  for (; size - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
    uint64_t x, y;
    std::memcpy(&x, a + at, sizeof x);
    std::memcpy(&y, b + at, sizeof y);
    if (x != y) {
      static_assert(std::endian::native == std::endian::little);
      return at + static_cast<std::size_t>(std::countr_zero(x ^ y)) / 8;
    }
  }
  while (at < size && a[at] == b[at]) ++at;
  return at;
}

}  // namespace

TextKey::Input TextKey::storable(Input text) const {
  if (text.size() <= kMaxBytes) return text;
  std::size_t end = kMaxBytes;
  while (!between_characters(text, end)) --end;
  return text.substr(0, end);
}

uint64_t TextKey::units(Input text) const {
  if (text.empty()) return 0;
  return text.size() - continuations(text) + (continues(text.front()) ? 1 : 0);
}

uint64_t TextKey::first(Input text) const {
  uint64_t key = static_cast<unsigned char>(text.front());
  for (std::size_t i = 1; i < std::min<std::size_t>(text.size(), 8) && continues(text[i]); ++i) {
    key = key << 8 | static_cast<unsigned char>(text[i]);
  }
  return key;
}

std::size_t TextKey::common(Input a, Input b) const {
  std::size_t end = equal_bytes(a.data(), b.data(), std::min(a.size(), b.size()));
  while (!between_characters(a, end) || !between_characters(b, end)) --end;
  return end;
}

}  // namespace smg::prefix_tree
