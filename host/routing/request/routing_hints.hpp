// Request headers that steer routing. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace smg {

inline constexpr std::size_t kMaxHintTokens = 512;
inline constexpr std::size_t kMaxHintBytes = 4096;
inline constexpr std::size_t kMaxRoutingKey = 128;

// Value of x-smg-routing-tokens: decimal 32-bit ids with commas between, blanks around them
// allowed. Appends them and returns true; a value that is empty, too long or wrong in any item
// appends nothing.
bool parse_routing_tokens(std::string_view value, std::vector<std::uint32_t>& tokens);

// Value of x-smg-routing-key: 1 to 128 bytes of UTF-8.
bool is_routing_key(std::string_view value);

}  // namespace smg
