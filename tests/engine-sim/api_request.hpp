#pragma once
// What an engine makes of the body of a data-plane request, for all the APIs that it serves, and of
// the sim_ fields that steer the answer.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answer_text.hpp"

namespace smg::sim {

enum class Api : std::uint8_t {
  Chat,
  Completions,
  Generate,
  Messages,
  Responses,
  Embeddings,
  Classify,
  Rerank
};

// The sim_ fields that take the place of an answer of the API.
struct Stunt {
  bool echo = false;
  std::optional<std::uint64_t> body_bytes;
  bool chunked = false;
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> flood_bytes;  // of events; 0 = endless
  int status = 0;
  bool any() const { return echo || body_bytes || flood_bytes || status != 0; }
};

struct ApiRequest {
  Api api = Api::Chat;
  std::string model;
  bool stream = false;
  bool include_usage = false;
  bool return_logprobs = false;
  bool remote_decode = false;  // kv_transfer_params.do_remote_decode
  bool base64 = false;         // embeddings
  std::uint32_t dimensions = 3;
  std::uint32_t choices = 1;    // n x number of prompts
  bool batch = false;           // the prompt is an array of prompts
  std::uint32_t tokens = 16;    // to generate
  bool length_limited = false;  // the limit ends the answer, not the model
  std::string tool;             // name of the tool to call; empty = none
  std::uint32_t prompt_tokens = 0;
  std::vector<std::uint64_t> block_hashes;
  std::vector<std::string> documents;  // rerank
  std::string query;                   // rerank
  AnswerText text;
  std::optional<double> interval_ms;  // own pace instead of the model's
  std::int64_t delay_ms = 0;
  std::string headers;  // extra header lines
  std::string fault;    // JSON object
  Stunt stunt;
};

struct ParseOptions {
  std::uint32_t block_size = 16;
  bool hash_blocks = true;
};

// False with a message when the body is not what the API wants. The body must be followed by 64
// bytes of room, its capacity is extended if need be.
bool parse_api_request(Api api, std::string& body, const ParseOptions& options, ApiRequest& request,
                       std::string& error);

}  // namespace smg::sim
