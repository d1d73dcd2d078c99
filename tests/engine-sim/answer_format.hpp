#pragma once
// How an answer looks in each API: the body of a whole answer and the events of a streamed one. The
// functions append to `out`. What is the same in every event of a stream is rendered once, into
// Answer::event_head.

#include <cstdint>
#include <string>
#include <string_view>

#include "api_request.hpp"

namespace smg::sim {

struct Answer {
  const ApiRequest* request = nullptr;
  std::string id;  // with the prefix that the API uses
  std::string model;
  std::int64_t created = 0;
  std::uint32_t cached_tokens = 0;
  std::string event_head;
};

class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;
  virtual std::string_view id_prefix() const = 0;
  virtual void whole(const Answer& answer, std::string& out) const = 0;
  // Before the first token; may render answer.event_head.
  virtual void open(Answer& answer, std::string& out) const = 0;
  virtual void token(const Answer& answer, std::uint32_t index, std::string& out) const = 0;
  // After the last token, up to and with the end mark of the API.
  virtual void close(const Answer& answer, std::string& out) const = 0;
};

const AnswerFormat& format_of(Api api);

const AnswerFormat& chat_format();
const AnswerFormat& completions_format();
const AnswerFormat& generate_format();
const AnswerFormat& messages_format();
const AnswerFormat& responses_format();
const AnswerFormat& embeddings_format();
const AnswerFormat& classify_format();
const AnswerFormat& rerank_format();

// {"prompt_tokens":..} with prompt_tokens_details, as chat and completions have it.
void append_usage(const Answer& answer, std::string& out);
// "input_tokens":..,"output_tokens":..
void append_io_tokens(const Answer& answer, std::string& out);

}  // namespace smg::sim
