// The top-level keys of a request body that the gateway knows by name, and the look-up from name to
// key.
//
// Keys up to kTrackedKeys are those that an edit may remove or replace: the reader records where
// they stand. The rest are read only. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace smg {

enum class BodyKey : std::uint8_t {
  // Removed when null or false (the first two also when true), as engines dislike them there.
  separate_reasoning,
  stream_reasoning,
  request_id,
  priority,
  top_k,
  min_p,
  min_tokens,
  regex,
  ebnf,
  json_schema,
  stop_token_ids,
  no_stop_trim,
  ignore_eos,
  continue_final_message,
  skip_special_tokens,
  lora_path,
  session_params,
  chat_template,
  chat_template_kwargs,
  return_hidden_states,
  repetition_penalty,
  sampling_seed,
  backend_url,
  // Rewritten or inserted.
  model,
  data_parallel_rank,
  stream,
  stream_options,
  n,
  max_tokens,
  max_completion_tokens,
  max_output_tokens,
  bootstrap_host,
  bootstrap_port,
  bootstrap_room,
  routed_dp_rank,
  disagg_prefill_dp_rank,
  kv_transfer_params,
  // Only read.
  messages,
  prompt,
  input,
  system,
  text,
  input_ids,
  query,
  documents,
  return_documents,
  rid,
  cache_salt,
  extra_key,
  none,  // any other key
};

inline constexpr unsigned kStrippedKeys = static_cast<unsigned>(BodyKey::model);
inline constexpr unsigned kTrackedKeys = static_cast<unsigned>(BodyKey::messages);
inline constexpr unsigned kKnownKeys = static_cast<unsigned>(BodyKey::none);

constexpr unsigned index_of(BodyKey key) {
  return static_cast<unsigned>(key);
}
constexpr std::uint64_t bit_of(BodyKey key) {
  return std::uint64_t{1} << index_of(key);
}
constexpr bool is_stripped(BodyKey key) {
  return index_of(key) < kStrippedKeys;
}
constexpr bool is_tracked(BodyKey key) {
  return index_of(key) < kTrackedKeys;
}

// BodyKey::none for a name that is not in the list. `name` is unescaped.
BodyKey find_body_key(std::string_view name);
std::string_view name_of(BodyKey key);
// The name as it begins a member: quoted, with the colon.
std::string_view member_start(BodyKey key);

}  // namespace smg
