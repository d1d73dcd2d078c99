// What a client gets of a generation: OpenAI's documents and chunks, for chat and for completions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace acme {

struct Usage {
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
};

class Answer {
 public:
  struct Terms {
    bool chat = true;    // else /v1/completions
    bool usage = false;  // the client wants it at the end of a stream
    std::string id;
    std::string model;
    int64_t created = 0;  // Unix seconds
  };
  explicit Answer(const Terms& terms);

  // Server-sent events, appended to `out`.
  void first_chunk(std::string& out) const;
  void token_chunk(std::string& out, std::string_view text) const;
  void last_chunks(std::string& out, std::string_view reason, const Usage& usage) const;

  // The whole answer, for who did not ask for a stream.
  std::string document(std::string_view text, std::string_view reason, const Usage& usage) const;

 private:
  const bool chat_;
  const bool usage_;
  std::string head_;  // {"id":...,"object":
  // What stands around the text of a token: all of it is the same from token to token.
  std::string before_;
  std::string after_;
};

// An error as OpenAI's clients understand it.
std::string error_document(std::string_view type, std::string_view message);

}  // namespace acme
