#pragma once
// The text of an answer as a list of tokens: a fixed run of words, or a given text with one code
// point per token. Deterministic: token i is the same in every answer, whole or streamed.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smg::sim {

class AnswerText {
 public:
  AnswerText() = default;
  // Cuts `text` at code points; `code_points` of them make a token.
  AnswerText(std::string text, std::size_t code_points);

  bool fixed() const { return !cuts_.empty(); }
  // Number of tokens of a given text.
  std::uint32_t size() const { return static_cast<std::uint32_t>(cuts_.size()); }
  // A given text starts over when it is shorter than the answer.
  std::string_view token(std::uint32_t index) const;
  std::string first(std::uint32_t count) const;

 private:
  std::string text_;
  std::vector<std::uint32_t> cuts_;  // where each token begins
};

}  // namespace smg::sim
