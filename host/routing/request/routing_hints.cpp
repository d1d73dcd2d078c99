#include "host/routing/request/routing_hints.hpp"

#include "host/routing/request/id_list.hpp"
#include "host/routing/request/json_string.hpp"

namespace smg {

bool parse_routing_tokens(std::string_view value, std::vector<std::uint32_t>& tokens) {
  return value.size() <= kMaxHintBytes && append_id_list(value, kMaxHintTokens, tokens);
}

bool is_routing_key(std::string_view value) {
  return !value.empty() && value.size() <= kMaxRoutingKey && is_utf8(value);
}

}  // namespace smg
