// SGLang's generate, and the APIs that never stream: embeddings, classify, rerank.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>

#include "answer_format.hpp"
#include "reply.hpp"

namespace smg::sim {

namespace {

class GenerateFormat final : public AnswerFormat {
 public:
  std::string_view id_prefix() const override { return ""; }

  void whole(const Answer& answer, std::string& out) const override {
    const ApiRequest& request = *answer.request;
    if (request.batch) out += '[';
    for (std::uint32_t i = 0; i < request.choices; ++i) {
      if (i > 0) out += ',';
      append(answer, request.tokens, true, out);
      if (!request.batch) break;
    }
    if (request.batch) out += ']';
  }

  void open(Answer&, std::string&) const override {}

  // Every event holds all of the text so far.
  void token(const Answer& answer, std::uint32_t index, std::string& out) const override {
    out.append("data: ");
    append(answer, index + 1, index + 1 == answer.request->tokens, out);
    out.append("\n\n");
  }

  void close(const Answer&, std::string& out) const override { out.append("data: [DONE]\n\n"); }

 private:
  static void append(const Answer& answer, std::uint32_t tokens, bool last, std::string& out) {
    const ApiRequest& request = *answer.request;
    out.append(R"({"text":)");
    append_quoted(out, request.text.first(tokens));
    out.append(R"(,"meta_info":{"id":")").append(answer.id).append(R"(","finish_reason":)");
    if (!last) {
      out.append("null");
    } else if (request.length_limited) {
      out.append(R"({"type":"length","length":)").append(std::to_string(tokens)).append("}");
    } else {
      out.append(R"({"type":"stop","matched":null})");
    }
    out.append(R"(,"prompt_tokens":)").append(std::to_string(request.prompt_tokens));
    out.append(R"(,"completion_tokens":)").append(std::to_string(tokens));
    out.append(R"(,"cached_tokens":)").append(std::to_string(answer.cached_tokens));
    if (request.return_logprobs) {
      out.append(R"(,"input_token_logprobs":[)");
      const std::uint32_t shown = std::min(request.prompt_tokens, 8u);
      for (std::uint32_t i = 0; i < shown; ++i) {
        out.append(i > 0 ? "," : "").append(i == 0 ? "[null," : "[-0.5,");
        out.append(std::to_string(i)).append(",null]");
      }
      out.append("]");
    }
    out.append("}}");
  }
};

class UnstreamedFormat : public AnswerFormat {
 public:
  void open(Answer&, std::string&) const override {}
  void token(const Answer&, std::uint32_t, std::string&) const override {}
  void close(const Answer&, std::string&) const override {}
};

void append_prompt_usage(const Answer& answer, std::string& out) {
  const std::string tokens = std::to_string(answer.request->prompt_tokens);
  out.append(R"("usage":{"prompt_tokens":)").append(tokens).append(R"(,"total_tokens":)");
  out.append(tokens).append(R"(,"completion_tokens":0,"prompt_tokens_details":null}})");
}

class EmbeddingsFormat final : public UnstreamedFormat {
 public:
  std::string_view id_prefix() const override { return "embd-"; }

  void whole(const Answer& answer, std::string& out) const override {
    const ApiRequest& request = *answer.request;
    out.append(R"({"id":")").append(answer.id).append(R"(","object":"list","created":)");
    out.append(std::to_string(answer.created)).append(R"(,"model":)");
    append_quoted(out, answer.model);
    out.append(R"(,"data":[)");
    const std::string vector =
        request.base64 ? encoded(request.dimensions) : plain(request.dimensions);
    for (std::uint32_t i = 0; i < request.choices; ++i) {
      out.append(i > 0 ? "," : "").append(R"({"index":)").append(std::to_string(i));
      out.append(R"(,"object":"embedding","embedding":)").append(vector).append("}");
    }
    out.append("],");
    append_prompt_usage(answer, out);
  }

 private:
  // 0.1, 0.2, ... 0.9, 0.1, ...
  static std::uint32_t tenths(std::uint32_t index) { return index % 9 + 1; }
  static std::string plain(std::uint32_t dimensions) {
    std::string out = "[";
    for (std::uint32_t i = 0; i < dimensions; ++i) {
      out.append(i > 0 ? ",0." : "0.").append(std::to_string(tenths(i)));
    }
    return out + "]";
  }
  // Little-endian floats in base64.
  static std::string encoded(std::uint32_t dimensions) {
    static constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string raw;
    for (std::uint32_t i = 0; i < dimensions; ++i) {
      const float value = static_cast<float>(tenths(i)) / 10;
      char bytes[sizeof value];
      std::memcpy(bytes, &value, sizeof value);
      raw.append(bytes, sizeof value);
    }
    std::string out = "\"";
    for (std::size_t i = 0; i < raw.size(); i += 3) {
      const std::size_t left = std::min<std::size_t>(3, raw.size() - i);
      std::uint32_t group = 0;
      for (std::size_t j = 0; j < 3; ++j) {
        group = group << 8 | (j < left ? static_cast<unsigned char>(raw[i + j]) : 0u);
      }
      for (std::size_t j = 0; j < 4; ++j) {
        out += j <= left ? kDigits[group >> (18 - 6 * j) & 63] : '=';
      }
    }
    return out + "\"";
  }
};

class ClassifyFormat final : public UnstreamedFormat {
 public:
  std::string_view id_prefix() const override { return "classify-"; }

  void whole(const Answer& answer, std::string& out) const override {
    out.append(R"({"id":")").append(answer.id).append(R"(","object":"list","created":)");
    out.append(std::to_string(answer.created)).append(R"(,"model":)");
    append_quoted(out, answer.model);
    out.append(R"(,"data":[)");
    for (std::uint32_t i = 0; i < answer.request->choices; ++i) {
      out.append(i > 0 ? "," : "").append(R"({"index":)").append(std::to_string(i));
      out.append(R"(,"label":"LABEL_0","probs":[0.9,0.1],"num_classes":2})");
    }
    out.append("],");
    append_prompt_usage(answer, out);
  }
};

// A document's score depends on nothing but the document and the query.
class RerankFormat final : public UnstreamedFormat {
 public:
  std::string_view id_prefix() const override { return "rerank-"; }

  void whole(const Answer& answer, std::string& out) const override {
    const auto& documents = answer.request->documents;
    std::vector<std::uint32_t> scores;
    for (const std::string& document : documents) {
      scores.push_back(score(answer.request->query, document));
    }
    std::vector<std::size_t> order(documents.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&scores](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    out += '[';
    for (const std::size_t index : order) {
      if (out.back() != '[') out += ',';
      const std::string digits = std::to_string(10000 + scores[index]);
      out.append(R"({"score":0.)").append(digits.substr(1)).append(R"(,"index":)");
      out.append(std::to_string(index)).append(R"(,"document":)");
      append_quoted(out, documents[index]);
      out += '}';
    }
    out += ']';
  }

 private:
  static std::uint32_t score(std::string_view query, std::string_view document) {
    std::uint32_t hash = 2166136261u;
    for (const char c : query) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    for (const char c : document) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return hash % 10000;
  }
};

}  // namespace

const AnswerFormat& generate_format() {
  static const GenerateFormat format;
  return format;
}

const AnswerFormat& embeddings_format() {
  static const EmbeddingsFormat format;
  return format;
}

const AnswerFormat& classify_format() {
  static const ClassifyFormat format;
  return format;
}

const AnswerFormat& rerank_format() {
  static const RerankFormat format;
  return format;
}

const AnswerFormat& format_of(Api api) {
  switch (api) {
    case Api::Chat:
      return chat_format();
    case Api::Completions:
      return completions_format();
    case Api::Generate:
      return generate_format();
    case Api::Messages:
      return messages_format();
    case Api::Responses:
      return responses_format();
    case Api::Embeddings:
      return embeddings_format();
    case Api::Classify:
      return classify_format();
    case Api::Rerank:
      return rerank_format();
  }
  return chat_format();
}

}  // namespace smg::sim
