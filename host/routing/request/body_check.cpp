#include "host/routing/request/body_check.hpp"

#include <span>

namespace smg {
namespace {

constexpr unsigned bit(JsonType type) {
  return 1u << static_cast<unsigned>(type);
}

constexpr unsigned kOptional = bit(JsonType::absent) | bit(JsonType::null);
constexpr unsigned kBool = bit(JsonType::no) | bit(JsonType::yes);
constexpr unsigned kString = bit(JsonType::string);
constexpr unsigned kNumber = bit(JsonType::number);
constexpr unsigned kArray = bit(JsonType::array);

struct Field {
  BodyKey key;
  unsigned types;  // bits of the types it may have
  std::string_view wanted;
};

constexpr Field kModel = {BodyKey::model, kString, "a string"};
constexpr Field kOptionalModel = {BodyKey::model, kString | kOptional, "a string"};
constexpr Field kStream = {BodyKey::stream, kBool | kOptional, "true or false"};

constexpr Field kChat[] = {kModel, kStream, {BodyKey::messages, kArray, "an array"}};
constexpr Field kCompletions[] = {
    kModel, kStream, {BodyKey::prompt, kString | kArray, "a string or an array"}};
constexpr Field kGenerate[] = {kOptionalModel, kStream};
constexpr Field kMessages[] = {kModel,
                               kStream,
                               {BodyKey::messages, kArray, "an array"},
                               {BodyKey::max_tokens, kNumber, "a number"}};
constexpr Field kResponses[] = {
    kModel, kStream, {BodyKey::input, kString | kArray, "a string or an array"}};
constexpr Field kOther[] = {kModel};
constexpr Field kRerank[] = {kModel,
                             {BodyKey::query, kString, "a string"},
                             {BodyKey::documents, kArray, "an array"},
                             {BodyKey::top_k, kNumber | kOptional, "an integer of 1 or more"},
                             {BodyKey::return_documents, kBool | kOptional, "true or false"}};
constexpr Field kShortRerank[] = {{BodyKey::query, kString, "a string"},
                                  {BodyKey::documents, kArray, "an array"}};

std::span<const Field> fields_of(std::uint32_t endpoint, Extractor extractor) {
  switch (endpoint) {
    case SMG_ENDPOINT_CHAT:
      return kChat;
    case SMG_ENDPOINT_COMPLETIONS:
      return kCompletions;
    case SMG_ENDPOINT_GENERATE:
      return kGenerate;
    case SMG_ENDPOINT_MESSAGES:
      return kMessages;
    case SMG_ENDPOINT_RESPONSES:
      return kResponses;
    case SMG_ENDPOINT_RERANK:
      if (extractor == Extractor::plain) return kShortRerank;
      return kRerank;
    default:
      return kOther;
  }
}

std::string_view name_of(JsonType type) {
  switch (type) {
    case JsonType::null:
      return "null";
    case JsonType::no:
      return "false";
    case JsonType::yes:
      return "true";
    case JsonType::number:
      return "a number";
    case JsonType::string:
      return "a string";
    case JsonType::array:
      return "an array";
    case JsonType::object:
      return "an object";
    default:
      return "absent";
  }
}

std::string quoted(BodyKey key) {
  std::string text("`");
  text += smg::name_of(key);
  text += '`';
  return text;
}

std::string complaint(const Field& field, JsonType type) {
  if (type == JsonType::absent) {
    return "missing field " + quoted(field.key) + ", which must be " + std::string(field.wanted);
  }
  return quoted(field.key) + " is " + std::string(name_of(type)) + ", it must be " +
         std::string(field.wanted);
}

// The first rule about values that is broken; empty: none.
std::string bad_value(std::uint32_t endpoint, const SeenBody& seen) {
  if (endpoint == SMG_ENDPOINT_CHAT) {
    if (seen.message_count == 0) return "`messages` is empty, it must have at least one message";
    if (seen.textless_message != 0) {
      return "message " + std::to_string(seen.textless_message) +
             " is of role user and has empty content, it must have text or at least one part";
    }
  }
  if (endpoint == SMG_ENDPOINT_RERANK) {
    if (seen.query_blank) return "`query` is blank, it must have text";
    if (seen.documents_empty) return "`documents` is empty, it must have at least one document";
    if (seen.top_k_whole && !seen.top_k_positive) return "`top_k` must be at least 1";
  }
  return {};
}

}  // namespace

BodyError check_body(std::uint32_t endpoint, Extractor extractor, const SeenBody& seen) {
  for (const Field& field : fields_of(endpoint, extractor)) {
    const JsonType type = seen.type(field.key);
    const bool whole = field.key != BodyKey::top_k || type != JsonType::number || seen.top_k_whole;
    if ((field.types & bit(type)) == 0 || !whole) {
      return {BodyFault::wrong_shape, extractor, complaint(field, type)};
    }
  }
  if (endpoint == SMG_ENDPOINT_CHAT && seen.shapeless_message != 0) {
    return {BodyFault::wrong_shape, extractor,
            "message " + std::to_string(seen.shapeless_message) + " is not an object"};
  }
  if (extractor == Extractor::validated) {
    std::string text = bad_value(endpoint, seen);
    if (!text.empty()) return {BodyFault::bad_value, extractor, std::move(text)};
  }
  return {};
}

}  // namespace smg
