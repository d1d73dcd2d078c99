// OpenAI's responses.
#include "answer_format.hpp"
#include "reply.hpp"

namespace smg::sim {

namespace {

class ResponsesFormat final : public AnswerFormat {
 public:
  std::string_view id_prefix() const override { return "resp_"; }

  void whole(const Answer& answer, std::string& out) const override {
    append_response(answer, true, out);
  }

  void open(Answer& answer, std::string& out) const override {
    for (const std::string_view type : {"response.created", "response.in_progress"}) {
      begin(type, type == "response.created" ? 0 : 1, out);
      out.append(R"(,"response":)");
      append_response(answer, false, out);
      out.append("}\n\n");
    }
    begin("response.output_item.added", 2, out);
    out.append(R"(,"output_index":0,"item":)");
    append_item(answer, false, out);
    out.append("}\n\n");
    if (answer.request->tool.empty()) {
      begin("response.content_part.added", 3, out);
      append_place(answer, out);
      out.append(R"(,"content_index":0,"part":)");
      append_part("", out);
      out.append("}\n\n");
    }
    begin(delta_type(answer), kNoNumber, answer.event_head);
    append_place(answer, answer.event_head);
    if (answer.request->tool.empty()) answer.event_head.append(R"(,"content_index":0)");
  }

  void token(const Answer& answer, std::uint32_t index, std::string& out) const override {
    out.append(answer.event_head).append(R"(,"sequence_number":)");
    out.append(std::to_string(index + 4)).append(R"(,"delta":)");
    append_quoted(out, answer.request->text.token(index));
    out.append("}\n\n");
  }

  void close(const Answer& answer, std::string& out) const override {
    const ApiRequest& request = *answer.request;
    const std::string text = request.text.first(request.tokens);
    std::uint32_t number = request.tokens + 4;
    if (request.tool.empty()) {
      begin("response.output_text.done", number++, out);
      append_place(answer, out);
      out.append(R"(,"content_index":0,"text":)");
      append_quoted(out, text);
      out.append("}\n\n");
      begin("response.content_part.done", number++, out);
      append_place(answer, out);
      out.append(R"(,"content_index":0,"part":)");
      append_part(text, out);
      out.append("}\n\n");
    } else {
      begin("response.function_call_arguments.done", number++, out);
      append_place(answer, out);
      out.append(R"(,"arguments":)");
      append_quoted(out, text);
      out.append("}\n\n");
    }
    begin("response.output_item.done", number++, out);
    out.append(R"(,"output_index":0,"item":)");
    append_item(answer, true, out);
    out.append("}\n\n");
    begin("response.completed", number, out);
    out.append(R"(,"response":)");
    append_response(answer, true, out);
    out.append("}\n\n");
  }

 private:
  static constexpr std::uint32_t kNoNumber = 0xffffffff;

  static std::string_view delta_type(const Answer& answer) {
    return answer.request->tool.empty() ? "response.output_text.delta"
                                        : "response.function_call_arguments.delta";
  }
  static std::string item_id(const Answer& answer) {
    return (answer.request->tool.empty() ? "msg_" : "fc_") + answer.id.substr(5);
  }
  static void begin(std::string_view type, std::uint32_t number, std::string& out) {
    out.append("event: ").append(type).append("\ndata: {\"type\":\"").append(type).append("\"");
    if (number != kNoNumber) {
      out.append(R"(,"sequence_number":)").append(std::to_string(number));
    }
  }
  static void append_place(const Answer& answer, std::string& out) {
    out.append(R"(,"item_id":")").append(item_id(answer)).append(R"(","output_index":0)");
  }
  static void append_part(std::string_view text, std::string& out) {
    out.append(R"({"type":"output_text","annotations":[],"text":)");
    append_quoted(out, text);
    out += '}';
  }
  static void append_item(const Answer& answer, bool done, std::string& out) {
    const ApiRequest& request = *answer.request;
    const std::string text = done ? request.text.first(request.tokens) : std::string();
    out.append(R"({"id":")").append(item_id(answer)).append(R"(","status":")");
    out.append(done ? "completed" : "in_progress").append(R"(","type":")");
    if (request.tool.empty()) {
      out.append(R"(message","role":"assistant","content":[)");
      if (done) append_part(text, out);
      out.append("]}");
    } else {
      out.append(R"(function_call","call_id":"call_)").append(answer.id.substr(5));
      out.append(R"(","name":)");
      append_quoted(out, request.tool);
      out.append(R"(,"arguments":)");
      append_quoted(out, text);
      out += '}';
    }
  }
  static void append_response(const Answer& answer, bool done, std::string& out) {
    out.append(R"({"id":)");
    append_quoted(out, answer.id);
    out.append(R"(,"object":"response","created_at":)").append(std::to_string(answer.created));
    out.append(R"(,"model":)");
    append_quoted(out, answer.model);
    out.append(R"(,"status":")").append(done ? "completed" : "in_progress");
    out.append(R"(","error":null,"incomplete_details":null,"instructions":null,"metadata":{},)");
    out.append(R"("parallel_tool_calls":true,"tool_choice":"auto","tools":[],"temperature":1.0,)");
    out.append(R"("top_p":1.0,"output":[)");
    if (done) append_item(answer, true, out);
    out.append(R"(],"usage":)");
    if (!done) {
      out.append("null}");
      return;
    }
    out += '{';
    append_io_tokens(answer, out);
    out.append(R"(,"total_tokens":)")
        .append(std::to_string(answer.request->prompt_tokens + answer.request->tokens));
    out.append(R"(,"input_tokens_details":{"cached_tokens":)")
        .append(std::to_string(answer.cached_tokens));
    out.append(R"(},"output_tokens_details":{"reasoning_tokens":0}}})");
  }
};

}  // namespace

const AnswerFormat& responses_format() {
  static const ResponsesFormat format;
  return format;
}

}  // namespace smg::sim
