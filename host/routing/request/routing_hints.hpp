// What a client may say to steer routing: headers, and the `rid` of the body. Pure functions, any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smg {

inline constexpr std::size_t kMaxHintTokens = 512;
inline constexpr std::size_t kMaxHintBytes = 4096;
inline constexpr std::size_t kMaxRoutingKey = 128;

// Value of x-smg-routing-tokens: decimal 32-bit ids with commas between and
// nothing else. Appends them and returns true; a value that is empty, too long or wrong in any item
// appends nothing.
bool parse_routing_tokens(std::string_view value, std::vector<std::uint32_t>& tokens);

// A routing key, as the headers of [routing_key_override] bring it: 1 to 128 bytes of UTF-8.
bool is_routing_key(std::string_view value);

// The key without the number of turn and retry that agents append to it: one `_r<digits>` at the
// end, then one `_t<digits>`. The whole key if nothing else would remain.
std::string_view without_lineage(std::string_view key);

// The key that the body's `rid` stands for, without lineage, into `key`. `json` is its value as it
// stands in the body: a string, or a list whose first item is one. False, with `key` empty, if
// there is none or it is too long.
bool read_rid_key(std::string_view json, std::string& key);

}  // namespace smg
