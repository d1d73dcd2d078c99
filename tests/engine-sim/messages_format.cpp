// Anthropic's messages.
#include "answer_format.hpp"
#include "reply.hpp"

namespace smg::sim {

namespace {

class MessagesFormat final : public AnswerFormat {
 public:
  std::string_view id_prefix() const override { return "msg_"; }

  void whole(const Answer& answer, std::string& out) const override {
    const ApiRequest& request = *answer.request;
    append_message_head(answer, out);
    out.append(R"("content":[)");
    const std::string text = request.text.first(request.tokens);
    if (request.tool.empty()) {
      out.append(R"({"type":"text","text":)");
      append_quoted(out, text);
    } else {
      append_tool_use(answer, out);
      out.append(text);
    }
    out.append(R"(}],"stop_reason":")").append(stop_reason(request));
    out.append(R"(","stop_sequence":null,"usage":{)");
    append_io_tokens(answer, out);
    append_cached(answer, out);
    out.append("}}");
  }

  void open(Answer& answer, std::string& out) const override {
    out.append("event: message_start\ndata: {\"type\":\"message_start\",\"message\":");
    append_message_head(answer, out);
    out.append(R"("content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":)");
    out.append(std::to_string(answer.request->prompt_tokens)).append(R"(,"output_tokens":0)");
    append_cached(answer, out);
    out.append("}}}\n\nevent: content_block_start\n");
    out.append(R"(data: {"type":"content_block_start","index":0,"content_block":)");
    if (answer.request->tool.empty()) {
      out.append(R"({"type":"text","text":"")");
    } else {
      append_tool_use(answer, out);
      out.append("{}");
    }
    out.append("}}\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n");
    answer.event_head =
        "event: content_block_delta\ndata: "
        "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":";
    answer.event_head += answer.request->tool.empty()
                             ? R"({"type":"text_delta","text":)"
                             : R"({"type":"input_json_delta","partial_json":)";
  }

  void token(const Answer& answer, std::uint32_t index, std::string& out) const override {
    out.append(answer.event_head);
    append_quoted(out, answer.request->text.token(index));
    out.append("}}\n\n");
  }

  void close(const Answer& answer, std::string& out) const override {
    out.append(
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n");
    out.append("event: message_delta\n");
    out.append(R"(data: {"type":"message_delta","delta":{"stop_reason":")");
    out.append(stop_reason(*answer.request)).append(R"(","stop_sequence":null},"usage":{)");
    append_io_tokens(answer, out);
    out.append("}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
  }

 private:
  static std::string_view stop_reason(const ApiRequest& request) {
    if (!request.tool.empty()) return "tool_use";
    return request.length_limited ? "max_tokens" : "end_turn";
  }
  static void append_cached(const Answer& answer, std::string& out) {
    out.append(R"(,"cache_read_input_tokens":)").append(std::to_string(answer.cached_tokens));
  }
  // Open after "input": the caller adds its value and closes.
  static void append_tool_use(const Answer& answer, std::string& out) {
    out.append(R"({"type":"tool_use","id":"toolu_)").append(answer.id.substr(4));
    out.append(R"(","name":)");
    append_quoted(out, answer.request->tool);
    out.append(R"(,"input":)");
  }
  static void append_message_head(const Answer& answer, std::string& out) {
    out.append(R"({"id":)");
    append_quoted(out, answer.id);
    out.append(R"(,"type":"message","role":"assistant","model":)");
    append_quoted(out, answer.model);
    out += ',';
  }
};

}  // namespace

const AnswerFormat& messages_format() {
  static const MessagesFormat format;
  return format;
}

}  // namespace smg::sim
