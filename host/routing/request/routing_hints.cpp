#include "host/routing/request/routing_hints.hpp"

#include <algorithm>

#include "host/routing/request/id_list.hpp"
#include "host/routing/request/json_string.hpp"

namespace smg {

bool parse_routing_tokens(std::string_view value, std::vector<std::uint32_t>& tokens) {
  return value.size() <= kMaxHintBytes && value.find_first_of(" \t") == std::string_view::npos &&
         append_id_list(value, kMaxHintTokens, tokens);
}

bool is_routing_key(std::string_view value) {
  return !value.empty() && value.size() <= kMaxRoutingKey && is_utf8(value);
}

namespace {

// `key` without a `_<letter><digits>` at its end.
std::string_view without_mark(std::string_view key, char letter) {
  std::size_t digits = key.size();
  while (digits > 0 && key[digits - 1] >= '0' && key[digits - 1] <= '9') --digits;
  const bool marked =
      digits < key.size() && digits >= 2 && key[digits - 1] == letter && key[digits - 2] == '_';
  return marked ? key.substr(0, digits - 2) : key;
}

// The literal that `json` begins with, without quotes; empty if it begins with none.
std::string_view first_literal(std::string_view json) {
  const auto skip_to_value = [&] {
    json.remove_prefix(std::min(json.find_first_not_of(" \t\n\r"), json.size()));
  };
  skip_to_value();
  if (json.starts_with('[')) {
    json.remove_prefix(1);
    skip_to_value();
  }
  if (!json.starts_with('"')) return {};
  for (std::size_t i = 1; i < json.size(); ++i) {
    if (json[i] == '\\') {
      ++i;
    } else if (json[i] == '"') {
      return json.substr(1, i - 1);
    }
  }
  return {};
}

}  // namespace

std::string_view without_lineage(std::string_view key) {
  const std::string_view bare = without_mark(without_mark(key, 'r'), 't');
  return bare.empty() ? key : bare;
}

bool read_rid_key(std::string_view json, std::string& key) {
  key.clear();
  const std::string_view literal = first_literal(json);
  if (literal.empty() || !append_unescaped(key, literal)) {
    key.clear();
    return false;
  }
  key.resize(without_lineage(key).size());
  if (key.empty() || key.size() > kMaxRoutingKey) key.clear();
  return !key.empty();
}

}  // namespace smg
