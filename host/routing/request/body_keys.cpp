#include "host/routing/request/body_keys.hpp"

#include <array>

namespace smg {
namespace {

// In the order of the enumeration, each as it begins a member.
constexpr std::array<std::string_view, kKnownKeys> kMembers = {
    R"("separate_reasoning":)",
    R"("stream_reasoning":)",
    R"("request_id":)",
    R"("priority":)",
    R"("top_k":)",
    R"("min_p":)",
    R"("min_tokens":)",
    R"("regex":)",
    R"("ebnf":)",
    R"("json_schema":)",
    R"("stop_token_ids":)",
    R"("no_stop_trim":)",
    R"("ignore_eos":)",
    R"("continue_final_message":)",
    R"("skip_special_tokens":)",
    R"("lora_path":)",
    R"("session_params":)",
    R"("chat_template":)",
    R"("chat_template_kwargs":)",
    R"("return_hidden_states":)",
    R"("repetition_penalty":)",
    R"("sampling_seed":)",
    R"("backend_url":)",
    R"("model":)",
    R"("data_parallel_rank":)",
    R"("stream":)",
    R"("stream_options":)",
    R"("n":)",
    R"("max_tokens":)",
    R"("max_completion_tokens":)",
    R"("max_output_tokens":)",
    R"("bootstrap_host":)",
    R"("bootstrap_port":)",
    R"("bootstrap_room":)",
    R"("routed_dp_rank":)",
    R"("disagg_prefill_dp_rank":)",
    R"("kv_transfer_params":)",
    R"("messages":)",
    R"("prompt":)",
    R"("input":)",
    R"("system":)",
    R"("text":)",
    R"("input_ids":)",
    R"("query":)",
    R"("documents":)",
    R"("return_documents":)",
    R"("rid":)",
    R"("cache_salt":)",
    R"("extra_key":)",
};

constexpr std::string_view bare(std::string_view member) {
  return member.substr(1, member.size() - 3);
}

constexpr std::size_t kLongest = 22;

// Keys sorted by length; those of length L stand at [first[L], first[L + 1]).
struct Index {
  std::array<BodyKey, kKnownKeys> keys{};
  std::array<std::string_view, kKnownKeys> names{};
  std::array<std::uint8_t, kLongest + 2> first{};
};

constexpr Index make_index() {
  Index index;
  std::uint8_t next = 0;
  for (std::size_t length = 0; length <= kLongest; ++length) {
    index.first[length] = next;
    for (unsigned key = 0; key < kKnownKeys; ++key) {
      if (bare(kMembers[key]).size() != length) continue;
      index.keys[next] = static_cast<BodyKey>(key);
      index.names[next++] = bare(kMembers[key]);
    }
  }
  index.first[kLongest + 1] = next;
  return index;
}

constexpr Index kIndex = make_index();
static_assert(kIndex.first[kLongest + 1] == kKnownKeys, "a key is longer than kLongest");

}  // namespace

BodyKey find_body_key(std::string_view name) {
  if (name.empty() || name.size() > kLongest) return BodyKey::none;
  for (unsigned i = kIndex.first[name.size()]; i < kIndex.first[name.size() + 1]; ++i) {
    const std::string_view candidate = kIndex.names[i];
    if (candidate.front() == name.front() && candidate == name) return kIndex.keys[i];
  }
  return BodyKey::none;
}

std::string_view name_of(BodyKey key) {
  return bare(kMembers[index_of(key)]);
}

std::string_view member_start(BodyKey key) {
  return kMembers[index_of(key)];
}

}  // namespace smg
