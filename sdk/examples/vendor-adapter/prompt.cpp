#include "prompt.hpp"

#include <boost/json/parse.hpp>

#include "smg/cpp/view.hpp"

namespace acme {

namespace json = boost::json;

std::optional<Prompt> read_prompt(const smg_request& request, std::string& error) {
  std::string text;
  text.reserve(request.body_size);
  for (uint32_t i = 0; i < request.body_count; ++i) text.append(smg::text(request.body[i]));
  json::error_code code;
  const json::value parsed = json::parse(text, code);
  const json::object* const body = code ? nullptr : parsed.if_object();
  if (body == nullptr) {
    error = "the body is no JSON object";
    return std::nullopt;
  }
  if (const json::value* const n = body->if_contains("n"); n != nullptr && *n != 1) {
    error = "n must be 1: an acme engine gives one answer";
    return std::nullopt;
  }
  Prompt prompt;
  json::object& frame = prompt.generate;
  frame["op"] = "generate";
  frame["model"] = json::string(smg::text(request.model));
  // Whether it is a good prompt is the engine's to say.
  for (const char* key :
       {"messages", "prompt", "max_tokens", "temperature", "top_p", "stop", "seed"}) {
    if (const json::value* const value = body->if_contains(key)) frame[key] = *value;
  }
  if (const json::value* const most = body->if_contains("max_completion_tokens")) {
    frame["max_tokens"] = *most;
  }
  if (const json::value* const options = body->if_contains("stream_options")) {
    const json::object* const object = options->if_object();
    const json::value* const usage =
        object == nullptr ? nullptr : object->if_contains("include_usage");
    prompt.usage = usage != nullptr && usage->is_bool() && usage->get_bool();
  }
  return prompt;
}

}  // namespace acme
