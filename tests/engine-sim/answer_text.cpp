#include "answer_text.hpp"

#include <array>

namespace smg::sim {

namespace {

// The first token has no space in front of it, wherever the words begin over.
constexpr std::array<std::string_view, 9> kWords{
    " every", " token", " counts", " and", " flows", " on", " through", " the", " gateway"};

}  // namespace

AnswerText::AnswerText(std::string text, std::size_t code_points) : text_(std::move(text)) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if ((static_cast<unsigned char>(text_[i]) & 0xc0) == 0x80) continue;
    if (seen++ % code_points == 0) cuts_.push_back(static_cast<std::uint32_t>(i));
  }
}

std::string_view AnswerText::token(std::uint32_t index) const {
  if (cuts_.empty()) {
    const std::string_view word = kWords[index % kWords.size()];
    return index == 0 ? word.substr(1) : word;
  }
  const std::size_t at = index % cuts_.size();
  const std::size_t end = at + 1 < cuts_.size() ? cuts_[at + 1] : text_.size();
  return std::string_view(text_).substr(cuts_[at], end - cuts_[at]);
}

std::string AnswerText::first(std::uint32_t count) const {
  std::string out;
  for (std::uint32_t i = 0; i < count; ++i) out.append(token(i));
  return out;
}

}  // namespace smg::sim
