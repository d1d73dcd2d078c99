// The rules that a body has to keep, applied to what the scan saw of it. Pure functions, any
// thread.
//
// Only the minimum is checked: whatever is not needed for routing is left to the engine.
#pragma once

#include <array>
#include <cstdint>

#include "host/routing/request/body_error.hpp"
#include "host/routing/request/body_keys.hpp"

namespace smg {

enum class JsonType : std::uint8_t { absent, null, no, yes, number, string, array, object };

// All of the last occurrence of a key.
struct SeenBody {
  std::array<JsonType, kKnownKeys> types{};
  std::uint32_t message_count = 0;
  std::uint32_t shapeless_message = 0;  // counting from 1, the first that is no object; 0: none
  std::uint32_t textless_message = 0;   // likewise, the first of the user's without text or parts
  bool query_blank = false;
  bool documents_empty = false;
  bool top_k_whole = false;     // an integer
  bool top_k_positive = false;  // and at least 1

  JsonType type(BodyKey key) const { return types[index_of(key)]; }
};

BodyError check_body(std::uint32_t endpoint, Extractor extractor, const SeenBody& seen);

}  // namespace smg
