#include "answers.hpp"

#include <algorithm>
#include <boost/json.hpp>

namespace smg::sim {
namespace json = boost::json;
namespace {

constexpr std::string_view kWords[] = {"every", "token",   "counts", "and",    "flows",
                                       "on",    "through", "the",    "gateway"};

std::string word(std::uint32_t index) {
  std::string text(kWords[index % std::size(kWords)]);
  return index == 0 ? text : " " + text;
}

// The piece of text that token `index` stands for: one code point of sim_text, or the next word.
std::string piece(const Wish& wish, std::uint32_t index) {
  if (wish.text.empty()) return word(index);
  std::size_t at = 0;
  for (std::uint32_t i = 0;; ++i) {
    std::size_t end = at + 1;
    while (end < wish.text.size() && (static_cast<unsigned char>(wish.text[end]) & 0xc0) == 0x80)
      ++end;
    if (i == index || end >= wish.text.size()) return wish.text.substr(at, end - at);
    at = end;
  }
}

std::string quoted(std::string_view text) {
  return json::serialize(json::value(json::string(text)));
}

std::string text_up_to(const Wish& wish, std::uint32_t tokens) {
  std::string all;
  for (std::uint32_t i = 0; i < tokens; ++i) all += piece(wish, i);
  return all;
}

std::string usage(const Wish& wish, const Progress& progress) {
  return R"({"prompt_tokens":)" + std::to_string(wish.prompt_tokens) + R"(,"completion_tokens":)" +
         std::to_string(progress.made) + R"(,"total_tokens":)" +
         std::to_string(wish.prompt_tokens + progress.made) +
         R"(,"prompt_tokens_details":{"cached_tokens":)" + std::to_string(progress.cached_tokens) +
         "}}";
}

constexpr std::string_view kToolCall =
    R"({"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}})";

void collect_text(const json::value& value, std::string& out) {
  if (value.is_string()) {
    out.append(value.get_string().data(), value.get_string().size()).push_back(' ');
  } else if (value.is_array()) {
    for (const auto& item : value.get_array()) collect_text(item, out);
  } else if (value.is_object()) {
    for (const char* key : {"content", "text"}) {
      if (const auto* inner = value.get_object().if_contains(key)) collect_text(*inner, out);
    }
  }
}

void event(std::string& out, std::string_view data) {
  out.append("data: ").append(data).append("\n\n");
}

void chat_chunk(std::string& out, const Progress& progress, std::string_view delta,
                std::string_view finish) {
  out.append(R"(data: {"id":")").append(progress.id);
  out.append(R"(","object":"chat.completion.chunk","created":1700000000,"model":")")
      .append(progress.model);
  out.append(R"(","choices":[{"index":0,"delta":)").append(delta);
  out.append(R"(,"finish_reason":)").append(finish).append("}]}\n\n");
}

void text_chunk(std::string& out, const Progress& progress, std::string_view text,
                std::string_view finish) {
  out.append(R"(data: {"id":")").append(progress.id);
  out.append(R"(","object":"text_completion","created":1700000000,"model":")")
      .append(progress.model);
  out.append(R"(","choices":[{"index":0,"text":)").append(text);
  out.append(R"(,"finish_reason":)").append(finish).append("}]}\n\n");
}

}  // namespace

bool read_wish(Api api, std::string_view body, Wish& wish) {
  json::error_code error;
  const json::value parsed = json::parse(json::string_view(body.data(), body.size()), error);
  if (error || !parsed.is_object()) return false;
  const json::object& fields = parsed.get_object();
  wish.api = api;
  const auto flag = [&](const char* key, bool& to) {
    if (const auto* value = fields.if_contains(key); value != nullptr && value->is_bool())
      to = value->get_bool();
  };
  const auto number = [&](const char* key, auto& to) {
    if (const auto* value = fields.if_contains(key); value != nullptr && value->is_number()) {
      to = static_cast<std::remove_reference_t<decltype(to)>>(value->to_number<double>());
    }
  };
  flag("stream", wish.stream);
  flag("sim_echo", wish.echo);
  for (const char* key :
       {"max_tokens", "max_completion_tokens", "max_output_tokens", "sim_tokens"}) {
    number(key, wish.tokens);
  }
  if (wish.tokens == 0) wish.tokens = 1;
  number("sim_interval_ms", wish.interval_ms);
  number("sim_status", wish.status);
  number("sim_body_bytes", wish.body_bytes);
  if (const auto* text = fields.if_contains("sim_text"); text != nullptr && text->is_string()) {
    wish.text.assign(text->get_string().data(), text->get_string().size());
    wish.tokens =
        static_cast<std::uint32_t>(std::count_if(wish.text.begin(), wish.text.end(), [](char c) {
          return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
        }));
  }
  wish.with_usage = false;
  if (const auto* options = fields.if_contains("stream_options");
      options != nullptr && options->is_object()) {
    const auto* include = options->get_object().if_contains("include_usage");
    wish.with_usage = include != nullptr && include->is_bool() && include->get_bool();
  }
  for (const char* key : {"system", "messages", "prompt", "text", "input", "query"}) {
    if (const auto* value = fields.if_contains(key)) collect_text(*value, wish.prompt);
  }
  wish.prompt_tokens = static_cast<std::uint32_t>(wish.prompt.size() / 4 + 1);
  wish.tools = fields.contains("tools") && wish.prompt.find("tool") != std::string::npos;
  return true;
}

std::string whole_answer(const Wish& wish, const Progress& progress,
                         std::string_view request_body) {
  if (wish.echo) {
    return R"({"length":)" + std::to_string(request_body.size()) + R"(,"body":)" +
           quoted(request_body) + "}";
  }
  if (wish.body_bytes > 0) {
    std::string bytes(wish.body_bytes, '\0');
    std::uint32_t state = 2463534242u;
    for (char& byte : bytes) {
      state ^= state << 13, state ^= state >> 17, state ^= state << 5;
      byte = static_cast<char>(state);
    }
    return bytes;
  }
  const std::string text = quoted(text_up_to(wish, wish.tokens));
  const std::string head = R"({"id":")" + progress.id + R"(","created":1700000000,"model":")" +
                           std::string(progress.model) + "\",";
  const std::string tokens = std::to_string(wish.prompt_tokens);
  switch (wish.api) {
    case Api::chat:
      return head +
             R"("object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":)" +
             (wish.tools ? "null,\"tool_calls\":[" + std::string(kToolCall) + "]" : text) +
             R"(},"finish_reason":")" + (wish.tools ? "tool_calls" : "stop") + R"("}],"usage":)" +
             usage(wish, progress) + "}";
    case Api::completions:
      return head + R"("object":"text_completion","choices":[{"index":0,"text":)" + text +
             R"(,"finish_reason":"stop"}],"usage":)" + usage(wish, progress) + "}";
    case Api::generate:
      return R"({"text":)" + text + R"(,"meta_info":{"prompt_tokens":)" + tokens +
             R"(,"completion_tokens":)" + std::to_string(progress.made) + "}}";
    case Api::messages:
      return head + R"("type":"message","role":"assistant","content":[{"type":"text","text":)" +
             text + R"(}],"stop_reason":"end_turn","usage":{"input_tokens":)" + tokens +
             R"(,"output_tokens":)" + std::to_string(progress.made) + "}}";
    case Api::responses:
      return head +
             R"("object":"response","status":"completed","output":[{"type":"message","id":"msg_1","role":"assistant",)"
             R"("status":"completed","content":[{"type":"output_text","annotations":[],"text":)" +
             text + R"(}]}],"usage":{"input_tokens":)" + tokens + R"(,"output_tokens":)" +
             std::to_string(progress.made) + R"(,"total_tokens":)" +
             std::to_string(wish.prompt_tokens + progress.made) + "}}";
    case Api::embeddings:
      return R"({"object":"list","model":")" + std::string(progress.model) +
             R"(","data":[{"object":"embedding","index":0,"embedding":[0.1,0.2,0.3]}],"usage":{"prompt_tokens":)" +
             tokens + R"(,"total_tokens":)" + tokens + "}}";
    case Api::classify:
      return R"({"object":"list","data":[{"index":0,"label":"LABEL_0","probs":[0.9,0.1],"num_classes":2}]})";
    case Api::rerank:
      return R"([{"score":0.9,"index":1,"document":"b"},{"score":0.1,"index":0,"document":"a"}])";
  }
  return "{}";
}

void append_stream_start(std::string& out, const Wish& wish, const Progress& progress) {
  if (wish.api == Api::chat)
    chat_chunk(out, progress, R"({"role":"assistant","content":""})", "null");
  if (wish.api == Api::messages) {
    out += "event: message_start\n";
    event(out, R"({"type":"message_start","message":{"id":")" + progress.id +
                   R"(","type":"message","role":"assistant","content":[],"model":")" +
                   std::string(progress.model) + R"(","usage":{"input_tokens":)" +
                   std::to_string(wish.prompt_tokens) + R"(,"output_tokens":0}}})");
  }
  if (wish.api == Api::responses) {
    out += "event: response.created\n";
    event(out, R"({"type":"response.created","response":{"id":")" + progress.id +
                   R"(","status":"in_progress"}})");
  }
}

void append_token(std::string& out, const Wish& wish, const Progress& progress) {
  const std::string text = quoted(piece(wish, progress.made));
  switch (wish.api) {
    case Api::chat:
      if (wish.tools) {
        if (progress.made == 0) {
          chat_chunk(out, progress,
                     R"({"tool_calls":[{"index":0,)" + std::string(kToolCall.substr(1)) + "]}",
                     "null");
        }
        return;
      }
      chat_chunk(out, progress, R"({"content":)" + text + "}", "null");
      return;
    case Api::messages:
      out += "event: content_block_delta\n";
      event(out, R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":)" +
                     text + "}}");
      return;
    case Api::responses:
      out += "event: response.output_text.delta\n";
      event(out, R"({"type":"response.output_text.delta","item_id":"msg_1","delta":)" + text + "}");
      return;
    case Api::generate:
      event(out, R"({"text":)" + quoted(text_up_to(wish, progress.made + 1)) + "}");
      return;
    default:
      text_chunk(out, progress, text, "null");
      return;
  }
}

void append_stream_end(std::string& out, const Wish& wish, const Progress& progress) {
  switch (wish.api) {
    case Api::chat:
      chat_chunk(out, progress, "{}", wish.tools ? "\"tool_calls\"" : "\"stop\"");
      break;
    case Api::messages:
      out += "event: message_stop\n";
      event(out, R"({"type":"message_stop"})");
      return;
    case Api::responses:
      out += "event: response.completed\n";
      event(out,
            R"({"type":"response.completed","response":)" + whole_answer(wish, progress, "") + "}");
      return;
    case Api::generate:
      break;
    default:
      text_chunk(out, progress, "\"\"", "\"stop\"");
      break;
  }
  if (wish.with_usage && wish.api != Api::generate) {
    event(out, R"({"id":")" + progress.id +
                   R"(","object":"chat.completion.chunk","created":1700000000,"model":")" +
                   std::string(progress.model) + R"(","choices":[],"usage":)" +
                   usage(wish, progress) + "}");
  }
  event(out, "[DONE]");
}

}  // namespace smg::sim
