// Any bytes as what a client may say about routing: the headers of token ids, routing key and
// target worker, and the body's `rid`. What is taken is within its limits and is the same when it
// is written and read again.
#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/views.hpp"
#include "host/routing/request/json_string.hpp"
#include "host/routing/request/routing_hints.hpp"
#include "require.hpp"
#include "routing_headers.hpp"

using smg::test::require;

namespace {

void read_tokens(std::string_view value) {
  static std::vector<std::uint32_t> tokens;
  static std::vector<std::uint32_t> again;
  tokens.assign(1, 7);
  if (!smg::parse_routing_tokens(value, tokens)) {
    require(tokens.size() == 1 && tokens[0] == 7, "what is refused leaves no token");
    return;
  }
  require(value.size() <= smg::kMaxHintBytes, "a hint is short");
  require(tokens.size() > 1 && tokens.size() - 1 <= smg::kMaxHintTokens, "from 1 to 512 tokens");
  static std::string text;
  text.clear();
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    if (i > 1) text += ',';
    text += std::to_string(tokens[i]);
  }
  again.assign(1, 7);
  require(smg::parse_routing_tokens(text, again) && again == tokens, "tokens can be read again");
}

void read_key(std::string_view value) {
  const bool taken = smg::is_routing_key(value);
  require(!taken || (!value.empty() && value.size() <= smg::kMaxRoutingKey), "a key is short");
  const std::string_view bare = smg::without_lineage(value);
  require(value.starts_with(bare) && bare.empty() == value.empty(), "a key stays a key");
  static std::string marked;
  marked.assign(value);
  marked += "_t3_r12";
  require(value.empty() || smg::without_lineage(marked) == value, "turn and retry do not count");

  const smg_header headers[] = {{smg::view("X-SMG-Target-Worker"), smg::view(value)},
                                {smg::view("x-smg-routing-key"), smg::view(value)},
                                {smg::view("Authorization"), smg::view(value)}};
  const auto read = consistent_hashing::read_headers(headers);
  require(read.routing_key == (taken ? value : std::string_view{}), "one rule for keys");
  require(!read.target_worker || *read.target_worker == value, "the worker is the one named");
  if (const auto index = consistent_hashing::parse_index(value)) {
    require(consistent_hashing::parse_index(std::to_string(*index)) == index, "a number");
    require(read.target_worker.has_value(), "a number is visible");
  }
}

void read_rid(std::string_view json) {
  static std::string key;
  key = "old";
  const bool taken = smg::read_rid_key(json, key);
  require(taken != key.empty() && key.size() <= smg::kMaxRoutingKey, "a key or none");
  if (!smg::is_utf8(json)) return;
  boost::json::error_code error;
  const boost::json::value parsed = boost::json::parse({json.data(), json.size()}, error);
  if (error) return;
  const boost::json::value* first = &parsed;
  if (const auto* list = parsed.if_array()) {
    if (list->empty()) return require(!taken, "an empty list has no key");
    first = &list->front();
  }
  const auto* text = first->if_string();
  if (text == nullptr) return require(!taken, "only a text is a key");
  const std::string_view wanted = smg::without_lineage({text->data(), text->size()});
  const bool fits = !wanted.empty() && wanted.size() <= smg::kMaxRoutingKey;
  require(taken == fits && (!fits || key == wanted), "the key is what the text says");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view value(reinterpret_cast<const char*>(data), size);
  read_tokens(value);
  read_key(value);
  if (value.starts_with('"') || value.starts_with('[')) read_rid(value);
  return 0;
}
