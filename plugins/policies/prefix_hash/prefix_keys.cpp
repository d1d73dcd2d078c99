#include "prefix_keys.hpp"

#include <algorithm>

#include "hash64.hpp"

namespace prefix_hash {
namespace {

// The first `count` characters of UTF-8 text: up to the byte that begins the next one.
struct Head {
  std::string_view text;
  uint64_t characters;  // fewer than asked for if the text ends before
};

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

Head head_of(std::string_view text, uint64_t count) {
  // Blocks of this many bytes are counted by vector instructions.
  constexpr std::size_t kBlock = 64;
  uint64_t characters = 0;
  std::size_t i = 0;
  for (; text.size() - i >= kBlock && count - characters >= kBlock; i += kBlock) {
    unsigned begun = 0;
    for (std::size_t j = 0; j < kBlock; ++j) begun += begins_character(text[i + j]) ? 1 : 0;
    characters += begun;
  }
  for (; i < text.size(); ++i) {
    if (!begins_character(text[i])) continue;
    if (characters == count) return {text.substr(0, i), characters};
    ++characters;
  }
  return {text, characters};
}

}  // namespace

PrefixKeys::PrefixKeys(const smg::Request& request, const PrefixDepths& depths)
    : routing_key_(request.routing_key()),
      tokens_(request.tokens()),
      text_(request.text()),
      prefix_tokens_(depths.prefix_tokens) {
  if (routing_key_.empty() && !depths.boundaries.empty()) {
    const uint64_t deepest = depths.boundaries.back();
    const uint64_t length =
        !tokens_.empty()
            ? tokens_.size()
            : head_of(text_, kCharactersPerToken * deepest).characters / kCharactersPerToken;
    const auto end = std::upper_bound(depths.boundaries.begin(), depths.boundaries.end(), length);
    boundaries_ = {depths.boundaries.begin(), end};
  }
  last_ = boundaries_.empty() && !(routing_key_.empty() && tokens_.empty() && text_.empty());
}

std::optional<PrefixKey> PrefixKeys::next() {
  if (!boundaries_.empty()) {
    const uint32_t boundary = boundaries_.back();
    boundaries_ = boundaries_.first(boundaries_.size() - 1);
    return PrefixKey{hash_first(boundary), boundary};
  }
  if (!last_) return std::nullopt;
  last_ = false;
  if (!routing_key_.empty()) return PrefixKey{smg::hash64(routing_key_), 0};
  return PrefixKey{hash_first(prefix_tokens_), 0};
}

uint64_t PrefixKeys::hash_first(uint64_t tokens) const {
  if (!tokens_.empty())
    return smg::hash64(tokens_.first(std::min<uint64_t>(tokens, tokens_.size())));
  return smg::hash64(head_of(text_, kCharactersPerToken * tokens).text);
}

}  // namespace prefix_hash
