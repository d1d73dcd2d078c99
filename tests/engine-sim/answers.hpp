// Answers in the shapes of the APIs: OpenAI chat, completions and responses, Anthropic messages,
// and the small ones.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace smg::sim {

enum class Api : std::uint8_t {
  chat,
  completions,
  generate,
  messages,
  responses,
  embeddings,
  classify,
  rerank
};

// What the engine makes of a request's body.
struct Wish {
  Api api = Api::chat;
  bool stream = false;
  bool with_usage = true;        // the stream ends with a usage chunk
  bool tools = false;            // answer with a tool call
  bool echo = false;             // sim_echo: answer with the request body
  std::uint32_t tokens = 16;     // sim_tokens, max_tokens, ...
  double interval_ms = -1;       // sim_interval_ms; negative: as the model says
  std::int64_t status = 200;     // sim_status
  std::uint64_t body_bytes = 0;  // sim_body_bytes: answer with that many bytes
  std::string text;              // sim_text: stream this, one event for each character
  std::string prompt;
  std::uint32_t prompt_tokens = 1;
};

// False if the body is no JSON object.
bool read_wish(Api api, std::string_view body, Wish& wish);

struct Progress {
  std::string id;
  std::string_view model;
  std::uint32_t made = 0;
  std::uint32_t cached_tokens = 0;
};

std::string whole_answer(const Wish& wish, const Progress& progress, std::string_view request_body);
// Events of a stream, appended: before the first token, one token, and the end.
void append_stream_start(std::string& out, const Wish& wish, const Progress& progress);
void append_token(std::string& out, const Wish& wish, const Progress& progress);
void append_stream_end(std::string& out, const Wish& wish, const Progress& progress);

}  // namespace smg::sim
