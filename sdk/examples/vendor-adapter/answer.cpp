#include "answer.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace acme {
namespace {

namespace json = boost::json;

std::string quoted(std::string_view text) {
  return json::serialize(json::string(text));
}

void append_quoted(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

std::string usage_object(const Usage& usage) {
  return "{\"prompt_tokens\":" + std::to_string(usage.prompt_tokens) +
         ",\"completion_tokens\":" + std::to_string(usage.completion_tokens) +
         ",\"total_tokens\":" + std::to_string(usage.prompt_tokens + usage.completion_tokens) + "}";
}

}  // namespace

Answer::Answer(const Terms& terms)
    : chat_(terms.chat),
      usage_(terms.usage),
      head_("{\"id\":" + quoted(terms.id) + ",\"created\":" + std::to_string(terms.created) +
            ",\"model\":" + quoted(terms.model) + ",\"object\":"),
      before_("data: " + head_ +
              (chat_ ? R"("chat.completion.chunk","choices":[{"index":0,"delta":{"content":)"
                     : R"("text_completion","choices":[{"index":0,"text":)")),
      after_(std::string(chat_ ? "}" : "") + ",\"finish_reason\":null}]}\n\n") {}

void Answer::first_chunk(std::string& out) const {
  if (!chat_) return;
  out += "data: " + head_ +
         R"("chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant",)" +
         "\"content\":\"\"},\"finish_reason\":null}]}\n\n";
}

void Answer::token_chunk(std::string& out, std::string_view text) const {
  out += before_;
  append_quoted(out, text);
  out += after_;
}

void Answer::last_chunks(std::string& out, std::string_view reason, const Usage& usage) const {
  const std::string start =
      "data: " + head_ + (chat_ ? R"("chat.completion.chunk")" : R"("text_completion")");
  out += start + ",\"choices\":[{\"index\":0," + (chat_ ? "\"delta\":{}" : "\"text\":\"\"") +
         ",\"finish_reason\":" + quoted(reason) + "}]}\n\n";
  if (usage_) out += start + ",\"choices\":[],\"usage\":" + usage_object(usage) + "}\n\n";
  out += "data: [DONE]\n\n";
}

std::string Answer::document(std::string_view text, std::string_view reason,
                             const Usage& usage) const {
  return head_ + (chat_ ? R"("chat.completion")" : R"("text_completion")") +
         ",\"choices\":[{\"index\":0," +
         (chat_ ? R"("message":{"role":"assistant","content":)" + quoted(text) + "}"
                : "\"text\":" + quoted(text)) +
         ",\"finish_reason\":" + quoted(reason) + "}],\"usage\":" + usage_object(usage) + "}";
}

std::string error_document(std::string_view type, std::string_view message) {
  return "{\"error\":{\"type\":" + quoted(type) + ",\"message\":" + quoted(message) + "}}";
}

}  // namespace acme
