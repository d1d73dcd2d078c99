// Chat completions and completions.
#include "answer_format.hpp"
#include "reply.hpp"

namespace smg::sim {

namespace {

std::string_view finish_reason(const ApiRequest& request) {
  if (!request.tool.empty()) return "tool_calls";
  return request.length_limited ? "length" : "stop";
}

std::string call_id(const Answer& answer) {
  return "call_" + answer.id.substr(answer.id.find('-') + 1);
}

void append_transfer(const Answer& answer, std::string& out) {
  if (!answer.request->remote_decode) return;
  out.append(R"(,"kv_transfer_params":{"do_remote_prefill":true,"do_remote_decode":false,)")
      .append(R"("remote_block_ids":[0,1],"remote_engine_id":"sim","remote_host":"127.0.0.1",)")
      .append(R"("remote_port":5600,"remote_request_id":)");
  append_quoted(out, answer.id);
  out += '}';
}

void append_head(const Answer& answer, std::string_view object, std::string& out) {
  out.append(R"({"id":)");
  append_quoted(out, answer.id);
  out.append(R"(,"object":")").append(object).append(R"(","created":)");
  out.append(std::to_string(answer.created)).append(R"(,"model":)");
  append_quoted(out, answer.model);
}

void open_events(Answer& answer, std::string_view object) {
  answer.event_head = "data: ";
  append_head(answer, object, answer.event_head);
  answer.event_head.append(R"(,"choices":[)");
}

void append_stream_end(const Answer& answer, std::string& out) {
  if (answer.request->include_usage) {
    out.append(answer.event_head).append(R"(],"usage":)");
    append_usage(answer, out);
    out.append("}\n\n");
  }
  out.append("data: [DONE]\n\n");
}

class ChatFormat final : public AnswerFormat {
 public:
  std::string_view id_prefix() const override { return "chatcmpl-"; }

  void whole(const Answer& answer, std::string& out) const override {
    const ApiRequest& request = *answer.request;
    append_head(answer, "chat.completion", out);
    out.append(R"(,"choices":[)");
    for (std::uint32_t i = 0; i < request.choices; ++i) {
      out.append(i > 0 ? "," : "").append(R"({"index":)").append(std::to_string(i));
      out.append(R"(,"message":{"role":"assistant","content":)");
      if (request.tool.empty()) {
        append_quoted(out, request.text.first(request.tokens));
      } else {
        out.append(R"(null,"tool_calls":[{"id":")").append(call_id(answer));
        out.append(R"(","type":"function","function":{"name":)");
        append_quoted(out, request.tool);
        out.append(R"(,"arguments":)");
        append_quoted(out, request.text.first(request.tokens));
        out.append("}}]");
      }
      out.append(R"(},"logprobs":null,"finish_reason":")").append(finish_reason(request));
      out.append(R"("})");
    }
    out.append(R"(],"usage":)");
    append_usage(answer, out);
    append_transfer(answer, out);
    out += '}';
  }

  void open(Answer& answer, std::string& out) const override {
    open_events(answer, "chat.completion.chunk");
    for (std::uint32_t i = 0; i < answer.request->choices; ++i) {
      event(answer, i, R"({"role":"assistant","content":""})", "null", out);
    }
  }

  void token(const Answer& answer, std::uint32_t index, std::string& out) const override {
    const ApiRequest& request = *answer.request;
    for (std::uint32_t i = 0; i < request.choices; ++i) {
      out.append(answer.event_head).append(R"({"index":)").append(std::to_string(i));
      if (request.tool.empty()) {
        out.append(R"(,"delta":{"content":)");
        append_quoted(out, request.text.token(index));
        out.append("}");
      } else {
        out.append(R"(,"delta":{"tool_calls":[{"index":0,)");
        if (index == 0) {
          out.append(R"("id":")").append(call_id(answer)).append(R"(","type":"function",)");
        }
        out.append(R"("function":{)");
        if (index == 0) {
          out.append(R"("name":)");
          append_quoted(out, request.tool);
          out += ',';
        }
        out.append(R"("arguments":)");
        append_quoted(out, request.text.token(index));
        out.append("}}]}");
      }
      out.append(R"(,"logprobs":null,"finish_reason":null}]})").append("\n\n");
    }
  }

  void close(const Answer& answer, std::string& out) const override {
    const std::string reason = '"' + std::string(finish_reason(*answer.request)) + '"';
    for (std::uint32_t i = 0; i < answer.request->choices; ++i) {
      event(answer, i, "{}", reason, out);
    }
    append_stream_end(answer, out);
  }

 private:
  static void event(const Answer& answer, std::uint32_t index, std::string_view delta,
                    std::string_view reason, std::string& out) {
    out.append(answer.event_head).append(R"({"index":)").append(std::to_string(index));
    out.append(R"(,"delta":)").append(delta).append(R"(,"logprobs":null,"finish_reason":)");
    out.append(reason).append("}]}\n\n");
  }
};

class CompletionsFormat final : public AnswerFormat {
 public:
  std::string_view id_prefix() const override { return "cmpl-"; }

  void whole(const Answer& answer, std::string& out) const override {
    const ApiRequest& request = *answer.request;
    append_head(answer, "text_completion", out);
    out.append(R"(,"choices":[)");
    for (std::uint32_t i = 0; i < request.choices; ++i) {
      out.append(i > 0 ? "," : "").append(R"({"index":)").append(std::to_string(i));
      out.append(R"(,"text":)");
      append_quoted(out, request.text.first(request.tokens));
      out.append(R"(,"logprobs":null,"finish_reason":")").append(finish_reason(request));
      out.append(R"("})");
    }
    out.append(R"(],"usage":)");
    append_usage(answer, out);
    append_transfer(answer, out);
    out += '}';
  }

  void open(Answer& answer, std::string&) const override { open_events(answer, "text_completion"); }

  void token(const Answer& answer, std::uint32_t index, std::string& out) const override {
    for (std::uint32_t i = 0; i < answer.request->choices; ++i) {
      event(answer, i, answer.request->text.token(index), "null", out);
    }
  }

  void close(const Answer& answer, std::string& out) const override {
    const std::string reason = '"' + std::string(finish_reason(*answer.request)) + '"';
    for (std::uint32_t i = 0; i < answer.request->choices; ++i) event(answer, i, "", reason, out);
    append_stream_end(answer, out);
  }

 private:
  static void event(const Answer& answer, std::uint32_t index, std::string_view text,
                    std::string_view reason, std::string& out) {
    out.append(answer.event_head).append(R"({"index":)").append(std::to_string(index));
    out.append(R"(,"text":)");
    append_quoted(out, text);
    out.append(R"(,"logprobs":null,"finish_reason":)").append(reason).append("}]}\n\n");
  }
};

}  // namespace

void append_usage(const Answer& answer, std::string& out) {
  const std::uint32_t generated = answer.request->tokens * answer.request->choices;
  out.append(R"({"prompt_tokens":)").append(std::to_string(answer.request->prompt_tokens));
  out.append(R"(,"total_tokens":)")
      .append(std::to_string(answer.request->prompt_tokens + generated));
  out.append(R"(,"completion_tokens":)").append(std::to_string(generated));
  out.append(R"(,"prompt_tokens_details":{"cached_tokens":)");
  out.append(std::to_string(answer.cached_tokens)).append("}}");
}

void append_io_tokens(const Answer& answer, std::string& out) {
  out.append(R"("input_tokens":)").append(std::to_string(answer.request->prompt_tokens));
  out.append(R"(,"output_tokens":)").append(std::to_string(answer.request->tokens));
}

const AnswerFormat& chat_format() {
  static const ChatFormat format;
  return format;
}

const AnswerFormat& completions_format() {
  static const CompletionsFormat format;
  return format;
}

}  // namespace smg::sim
