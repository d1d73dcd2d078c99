#include "api_request.hpp"

#include <simdjson.h>

#include <algorithm>
#include <cstring>

namespace smg::sim {

namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kBytesPerToken = 4;

// The prompt as one string: all that counts and hashes needs no structure.
class PromptCollector {
 public:
  explicit PromptCollector(std::string& bytes) : bytes_(bytes) { bytes_.clear(); }

  void add(std::string_view text) { bytes_.append(text); }
  void add_token(std::int64_t token) {
    const auto id = static_cast<std::uint32_t>(token);
    char raw[kBytesPerToken];
    std::memcpy(raw, &id, sizeof raw);
    bytes_.append(raw, sizeof raw);
  }
  // Text, token ids, content parts, or any nesting of them.
  void collect(dom::element value) {
    switch (value.type()) {
      case dom::element_type::STRING:
        add(std::string_view(value));
        break;
      case dom::element_type::INT64:
      case dom::element_type::UINT64:
        add_token(static_cast<std::int64_t>(value));
        break;
      case dom::element_type::ARRAY:
        for (dom::element item : dom::array(value)) collect(item);
        break;
      case dom::element_type::OBJECT:
        for (auto [key, item] : dom::object(value)) {
          if (key == "text" || key == "content" || key == "role" || key == "arguments") {
            collect(item);
          }
        }
        break;
      default:
        break;
    }
  }

 private:
  std::string& bytes_;
};

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 32);
}

void hash_blocks(std::string_view prompt, std::uint32_t block_size,
                 std::vector<std::uint64_t>& hashes) {
  const std::size_t block = std::size_t{block_size} * kBytesPerToken;
  std::uint64_t hash = 0x243f6a8885a308d3u;
  for (std::size_t at = 0; at + block <= prompt.size(); at += block) {
    for (std::size_t i = 0; i < block; i += kBytesPerToken) {
      std::uint32_t word = 0;
      std::memcpy(&word, prompt.data() + at + i, sizeof word);
      hash = mix(hash, word);
    }
    hashes.push_back(hash);
  }
}

bool contains_tool(dom::element content) {
  if (content.is_string()) {
    return std::string_view(content).find("tool") != std::string_view::npos;
  }
  if (content.is_array()) {
    for (dom::element part : dom::array(content)) {
      dom::element text;
      if (part["text"].get(text) == simdjson::SUCCESS && contains_tool(text)) return true;
      if (part["content"].get(text) == simdjson::SUCCESS && contains_tool(text)) return true;
    }
  }
  return false;
}

// Whether the last user message, or the input when it is a string, asks for a tool.
bool last_user_asks_for_tool(dom::element messages) {
  if (!messages.is_array()) return contains_tool(messages);
  bool asks = false;
  for (dom::element message : dom::array(messages)) {
    std::string_view role;
    dom::element content;
    if (message["role"].get(role) != simdjson::SUCCESS || role != "user") continue;
    if (message["content"].get(content) == simdjson::SUCCESS) asks = contains_tool(content);
  }
  return asks;
}

std::string first_tool(dom::element tools) {
  dom::element first;
  std::string_view name;
  if (!tools.is_array() || dom::array(tools).at(0).get(first) != simdjson::SUCCESS) return {};
  if (first["function"]["name"].get(name) == simdjson::SUCCESS) return std::string(name);
  if (first["name"].get(name) == simdjson::SUCCESS) return std::string(name);
  return {};
}

bool is_true(dom::element value) {
  return value.is_bool() && bool(value);
}

double number(dom::element value, double otherwise) {
  double result = otherwise;
  if (value.get(result) == simdjson::SUCCESS) return result;
  return otherwise;
}

std::uint32_t count(dom::element value) {
  return static_cast<std::uint32_t>(std::clamp(number(value, 0), 0.0, 1e9));
}

void append_header_lines(dom::element fields, std::string& lines) {
  if (!fields.is_object()) return;
  for (auto [name, value] : dom::object(fields)) {
    const auto line = [&lines, field = name](dom::element text) {
      if (!text.is_string()) return;
      lines.append(field).append(": ").append(std::string_view(text)).append("\r\n");
    };
    if (value.is_array()) {
      for (dom::element item : dom::array(value)) line(item);
    } else {
      line(value);
    }
  }
}

struct Reader {
  ApiRequest& request;
  PromptCollector prompt;
  std::optional<std::uint32_t> limit;
  std::optional<std::uint32_t> wanted;
  std::uint32_t n = 1;
  std::uint32_t prompts = 1;
  std::size_t token_code_points = 0;  // 0 = not given
  std::string text;
  dom::element asked;
  bool has_asked = false;
  std::string tool;

  void sim_field(std::string_view key, dom::element value);
  void field(std::string_view key, dom::element value);
  void prompt_field(dom::element value);
};

void Reader::sim_field(std::string_view key, dom::element value) {
  Stunt& stunt = request.stunt;
  if (key == "sim_tokens") wanted = count(value);
  if (key == "sim_interval_ms") request.interval_ms = std::max(0.0, number(value, 0));
  if (key == "sim_delay_ms") request.delay_ms = static_cast<std::int64_t>(number(value, 0));
  if (key == "sim_text" && value.is_string()) text = std::string_view(value);
  if (key == "sim_text_step") token_code_points = std::max(1u, count(value));
  if (key == "sim_headers") append_header_lines(value, request.headers);
  if (key == "sim_fault") {
    request.fault = value.is_string()
                        ? "{\"kind\":\"" + std::string(std::string_view(value)) + "\"}"
                        : simdjson::minify(value);
  }
  if (key == "sim_echo") stunt.echo = is_true(value);
  if (key == "sim_body_bytes") stunt.body_bytes = static_cast<std::uint64_t>(number(value, 0));
  if (key == "sim_chunked") stunt.chunked = is_true(value);
  if (key == "sim_seed") stunt.seed = static_cast<std::uint64_t>(number(value, 1));
  if (key == "sim_flood") {
    stunt.flood_bytes = static_cast<std::uint64_t>(std::max(0.0, number(value, 0)));
  }
  if (key == "sim_status") {
    stunt.status = std::clamp(static_cast<int>(number(value, 0)), 200, 999);
  }
}

// A prompt is a text, a list of token ids, or a list of either.
void Reader::prompt_field(dom::element value) {
  prompt.collect(value);
  if (!value.is_array()) return;
  const dom::array items(value);
  dom::element first;
  if (items.at(0).get(first) != simdjson::SUCCESS || first.is_int64()) return;
  prompts = static_cast<std::uint32_t>(items.size());
  request.batch = true;
}

void Reader::field(std::string_view key, dom::element value) {
  if (key.starts_with("sim_")) return sim_field(key, value);
  if (key == "messages") {
    prompt.collect(value);
    asked = value;
    has_asked = true;
  } else if (key == "input") {
    if (request.api == Api::Responses) {
      prompt.collect(value);
      asked = value;
      has_asked = true;
    } else {
      prompt_field(value);
    }
  } else if (key == "prompt" || key == "text" || key == "input_ids") {
    prompt_field(value);
  } else if (key == "system" || key == "instructions") {
    prompt.collect(value);
  } else if (key == "query") {
    prompt.collect(value);
    if (value.is_string()) request.query = std::string_view(value);
  } else if (key == "documents") {
    prompt.collect(value);
    request.documents.clear();
    if (!value.is_array()) return;
    for (dom::element item : dom::array(value)) {
      std::string_view document;
      if (item.get(document) == simdjson::SUCCESS) request.documents.emplace_back(document);
    }
  } else if (key == "model") {
    if (value.is_string()) request.model = std::string_view(value);
  } else if (key == "stream") {
    request.stream = is_true(value);
  } else if (key == "stream_options") {
    bool include = false;
    request.include_usage = value["include_usage"].get(include) == simdjson::SUCCESS && include;
  } else if (key == "max_tokens" || key == "max_completion_tokens" || key == "max_output_tokens") {
    if (value.is_number()) limit = count(value);
  } else if (key == "sampling_params") {
    dom::element tokens;
    if (value["max_new_tokens"].get(tokens) == simdjson::SUCCESS) limit = count(tokens);
  } else if (key == "n") {
    n = std::clamp(count(value), 1u, 64u);
  } else if (key == "tools") {
    tool = first_tool(value);
  } else if (key == "return_logprob") {
    request.return_logprobs = is_true(value);
  } else if (key == "kv_transfer_params") {
    bool remote = false;
    request.remote_decode = value["do_remote_decode"].get(remote) == simdjson::SUCCESS && remote;
  } else if (key == "encoding_format") {
    request.base64 = value.is_string() && std::string_view(value) == "base64";
  } else if (key == "dimensions") {
    request.dimensions = std::clamp(count(value), 1u, 8192u);
  }
}

}  // namespace

bool parse_api_request(Api api, std::string& body, const ParseOptions& options, ApiRequest& request,
                       std::string& error) {
  static dom::parser parser;
  static std::string prompt;
  if (body.capacity() < body.size() + simdjson::SIMDJSON_PADDING) {
    body.reserve(body.size() + simdjson::SIMDJSON_PADDING);
  }
  dom::object object;
  const auto code = parser.parse(body.data(), body.size(), false).get(object);
  if (code != simdjson::SUCCESS) {
    error = code == simdjson::INCORRECT_TYPE ? "the body must be a JSON object"
                                             : "the body is not valid JSON";
    return false;
  }
  request.api = api;
  Reader reader{request, PromptCollector(prompt), {}, {}, 1, 1, 0, {}, {}, false, {}};
  for (auto [key, value] : object) reader.field(key, value);

  request.choices = std::min(1024u, reader.n * std::max(1u, reader.prompts));
  if (!reader.text.empty()) {
    request.text =
        AnswerText(std::move(reader.text), std::max<std::size_t>(1, reader.token_code_points));
  }
  const std::uint32_t natural =
      reader.wanted ? *reader.wanted
                    : (request.text.fixed() ? request.text.size() : reader.limit.value_or(16));
  request.tokens = std::min(natural, reader.limit.value_or(natural));
  request.length_limited = reader.limit && natural >= *reader.limit;
  if (request.text.fixed() && !reader.wanted && natural == reader.limit) {
    request.length_limited = false;
  }
  if (reader.has_asked && !reader.tool.empty() && last_user_asks_for_tool(reader.asked)) {
    request.tool = std::move(reader.tool);
    request.text = AnswerText(R"({"city":"Paris"})",
                              reader.token_code_points == 0 ? 1000 : reader.token_code_points);
    request.tokens = request.text.size();
    request.length_limited = false;
  }
  if (api >= Api::Embeddings) {
    request.tokens = 0;
    request.stream = false;
  }
  request.prompt_tokens =
      static_cast<std::uint32_t>((prompt.size() + kBytesPerToken - 1) / kBytesPerToken);
  request.prompt_tokens = std::max(1u, request.prompt_tokens);
  if (options.hash_blocks) hash_blocks(prompt, options.block_size, request.block_hashes);
  if (prompt.capacity() > (1u << 20)) prompt = std::string();
  return true;
}

}  // namespace smg::sim
