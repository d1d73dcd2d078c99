// The keys of a request, the most particular first: hashes of what it begins with.
//
// A routing key that the client gave is the only key. Otherwise each boundary that the prompt
// reaches gives one, deepest first; if it reaches none, its first `prefix_tokens` tokens do. A
// prompt that is known as text only counts four characters for a token. Hashed one by one, as they
// are asked for: mostly the first one does. Valid as long as the request is; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "smg/cpp/policy.hpp"

namespace prefix_hash {

inline constexpr uint64_t kCharactersPerToken = 4;

struct PrefixKey {
  uint64_t hash;   // XXH3-64
  uint32_t level;  // the boundary in tokens; 0: a routing key, or no boundary was reached
  bool operator==(const PrefixKey&) const = default;
};

struct PrefixDepths {
  uint64_t prefix_tokens = 256;
  std::span<const uint32_t> boundaries;  // strictly ascending, in tokens
};

class PrefixKeys {
 public:
  PrefixKeys(const smg::Request& request, const PrefixDepths& depths);

  // nullopt: there are no more. The very first: the request has nothing to tell it by.
  std::optional<PrefixKey> next();

 private:
  uint64_t hash_first(uint64_t tokens) const;

  std::string_view routing_key_;
  std::span<const uint32_t> tokens_;
  std::string_view text_;
  std::span<const uint32_t> boundaries_;  // reached and not answered yet
  uint64_t prefix_tokens_;
  bool last_;  // there is a key beside those of boundaries
};

}  // namespace prefix_hash
