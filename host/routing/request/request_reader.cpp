#include "host/routing/request/request_reader.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <new>

#include "host/routing/request/id_list.hpp"
#include "host/routing/request/routing_text.hpp"
#include "smg/policy.h"

namespace smg {

using namespace ondemand;  // NOLINT(google-build-using-namespace)

static_assert(kBodySlack >= simdjson::SIMDJSON_PADDING);

struct RequestReader::Parser {
  // Capacity in bytes of body; the parser's own memory is several times that.
  static constexpr std::size_t kSmallest = std::size_t{1} << 16;
  static constexpr std::size_t kKept = std::size_t{1} << 22;

  simdjson::ondemand::parser json;
  std::string scratch;  // unescaped names
  std::string front;    // text that comes before the rest, wherever its key stands

  void make_room(std::size_t size) {
    if (json.capacity() >= size && json.capacity() > 0) return;
    const std::size_t capacity = std::max(kSmallest, std::bit_ceil(size));
    const error_code error =
        json.allocate(std::min(capacity, json.max_capacity()), json.max_depth());
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  }
  void trim() {
    if (json.capacity() > kKept) json = simdjson::ondemand::parser();
    if (scratch.capacity() > kSmallest) std::string().swap(scratch);
    if (front.capacity() > kSmallest) std::string().swap(front);
  }
};

namespace {

// One body on its way through the parser.
class Scan {
 public:
  Scan(std::string_view body, std::uint32_t endpoint, Extractor extractor, std::uint32_t needs,
       RequestFacts& facts, RoutingInput& input, std::string& scratch, std::string& front)
      : body_(body),
        endpoint_(endpoint),
        short_rerank_(endpoint == SMG_ENDPOINT_RERANK && extractor == Extractor::plain),
        tokens_wanted_((needs & SMG_NEEDS_TOKENS) != 0),
        text_wanted_((needs & SMG_NEEDS_TEXT) != 0),
        facts_(facts),
        input_(input),
        front_(front),
        bounds_(body, scratch),
        text_(bounds_, text_wanted_ ? &input.text : nullptr) {
    front_.clear();
  }

  const SeenBody& seen() const { return seen_; }

  error_code read(Object& object) {
    for (auto result : object) {
      simdjson::ondemand::field field;
      if (const error_code error = std::move(result).get(field)) return error;
      std::string_view raw;
      std::string_view name;
      if (const error_code error = bounds_.key(field.key(), raw, name)) return error;
      const BodyKey key = find_body_key(name);
      Item item;
      if (const error_code error = bounds_.item(std::move(field).value(), item)) return error;
      if (key != BodyKey::none) {
        const error_code error = known(key, bounds_.offset(raw) - 1, item);
        if (error != SUCCESS) return error;
      }
      ++facts_.member_count;
    }
    return finish();
  }

 private:
  error_code known(BodyKey key, std::uint32_t begin, Item& item) {
    seen_.types[index_of(key)] = item.type;
    if (is_tracked(key)) return tracked(key, begin, item);
    switch (key) {
      case BodyKey::messages:
        return messages(item);
      case BodyKey::system:
        if (endpoint_ != SMG_ENDPOINT_MESSAGES || !text_wanted_) return SUCCESS;
        front_.clear();
        Content shape;
        return TextWalk(bounds_, &front_).content(item, shape);
      case BodyKey::prompt:
        return endpoint_ == SMG_ENDPOINT_COMPLETIONS ? strings(item) : SUCCESS;
      case BodyKey::text:
        return endpoint_ == SMG_ENDPOINT_GENERATE ? strings(item) : SUCCESS;
      case BodyKey::input:
        return input(item);
      case BodyKey::input_ids:
        return ids(item);
      case BodyKey::query:
        return query(item);
      case BodyKey::documents: {
        if (endpoint_ != SMG_ENDPOINT_RERANK) return SUCCESS;
        if (const error_code error = span(item, facts_.documents)) return error;
        seen_.documents_empty =
            item.type == JsonType::array && is_empty_container(facts_.documents.in(body_));
        return SUCCESS;
      }
      case BodyKey::rid:
        return span(item, facts_.rid);
      case BodyKey::cache_salt:
        return partition(item, 0);
      case BodyKey::extra_key:
        return partition(item, 1);
      default:
        return SUCCESS;
    }
  }

  error_code span(Item& item, BodySpan& span) {
    std::string_view bytes;
    if (const error_code error = bounds_.bytes(item, bytes)) return error;
    span = {bounds_.offset(bytes), static_cast<std::uint32_t>(bytes.size())};
    return SUCCESS;
  }

  error_code tracked(BodyKey key, std::uint32_t begin, Item& item) {
    if (facts_.tracked_count == RequestFacts::kMaxMembers) return simdjson::CAPACITY;
    BodyMember& member = facts_.tracked[facts_.tracked_count++];
    member.begin = begin;
    member.ordinal = facts_.member_count;
    member.key = key;
    if (const error_code error = span(item, member.value)) return error;

    facts_.present |= bit_of(key);
    const bool strip = item.type == JsonType::null || item.type == JsonType::no ||
                       (item.type == JsonType::yes &&
                        (key == BodyKey::separate_reasoning || key == BodyKey::stream_reasoning));
    facts_.strip &= ~bit_of(key);
    if (strip && is_stripped(key)) facts_.strip |= bit_of(key);
    if (key == BodyKey::model) model_ = item.token;
    if (key == BodyKey::top_k) top_k(item);
    if (key == BodyKey::lora_path) partition_[2] = strip ? BodySpan{} : member.value;
    return SUCCESS;
  }

  // What makes an engine keep a request's cache apart from that of the same prompt without it.
  error_code partition(Item& item, std::size_t which) {
    partition_[which] = {};
    if (item.type == JsonType::null || item.type == JsonType::no) return SUCCESS;
    return span(item, partition_[which]);
  }

  void top_k(const Item& item) {
    const char* const begin = item.token.data();
    const char* const end = begin + item.token.size();
    const bool negative = *begin == '-';
    std::uint64_t value = 0;
    const auto [next, error] = std::from_chars(begin + (negative ? 1 : 0), end, value);
    seen_.top_k_whole = item.type == JsonType::number && next == end && error == std::errc();
    seen_.top_k_positive = seen_.top_k_whole && !negative && value > 0;
    facts_.top_k = seen_.top_k_positive ? value : 0;
  }

  error_code messages(Item& item) {
    if (item.type != JsonType::array) return SUCCESS;
    if (endpoint_ == SMG_ENDPOINT_CHAT) {
      text_.back_to(0);
      return text_.chat(item, seen_);
    }
    if (endpoint_ != SMG_ENDPOINT_MESSAGES || !text_wanted_) return SUCCESS;
    text_.back_to(0);
    return text_.items(item);
  }

  error_code input(Item& item) {
    const bool is_items = endpoint_ == SMG_ENDPOINT_RESPONSES && item.type == JsonType::array;
    if (is_items && text_wanted_) {
      text_.back_to(0);
      return text_.items(item);
    }
    const bool has_input = endpoint_ == SMG_ENDPOINT_RESPONSES ||
                           endpoint_ == SMG_ENDPOINT_EMBEDDINGS ||
                           endpoint_ == SMG_ENDPOINT_CLASSIFY;
    return has_input ? strings(item) : SUCCESS;
  }

  error_code strings(Item& item) {
    text_.back_to(0);
    return text_.strings(item);
  }

  error_code query(Item& item) {
    if (endpoint_ != SMG_ENDPOINT_RERANK) return SUCCESS;
    if (const error_code error = span(item, facts_.query)) return error;
    if (item.type != JsonType::string) return SUCCESS;
    std::string plain;
    if (!append_unescaped(plain, without_quotes(item.token))) return simdjson::STRING_ERROR;
    seen_.query_blank = plain.find_first_not_of(" \t\n\r\f\v") == std::string::npos;
    return strings(item);
  }

  // One sequence, or the first of a batch. Anything but ids counts as none.
  error_code ids(Item& item) {
    if (endpoint_ != SMG_ENDPOINT_GENERATE || !(tokens_wanted_ || text_wanted_)) return SUCCESS;
    input_.tokens.clear();
    if (item.type != JsonType::array) return SUCCESS;
    std::string_view list;
    if (const error_code error = bounds_.bytes(item, list)) return error;
    list = without_quotes(list);
    const std::size_t first = list.find_first_not_of(" \t\n\r");
    if (first != std::string_view::npos && list[first] == '[') {
      list.remove_prefix(first + 1);
      list = list.substr(0, list.find(']'));
    }
    append_id_list(list, kAnyNumberOfIds, input_.tokens);
    return SUCCESS;
  }

  error_code finish() {
    if (short_rerank_) {
      facts_.top_k = 0;
      facts_.rid = {};
      model_ = {};
    }
    // Only a string can be taken apart; anything else is for the check to refuse.
    if (!model_.empty() && model_.front() == '"') {
      if (!append_unescaped(facts_.model, without_quotes(model_))) return simdjson::STRING_ERROR;
    } else {
      facts_.model = kUnknownModel;
    }
    const bool can_stream =
        endpoint_ == SMG_ENDPOINT_CHAT || endpoint_ == SMG_ENDPOINT_COMPLETIONS ||
        endpoint_ == SMG_ENDPOINT_GENERATE || endpoint_ == SMG_ENDPOINT_MESSAGES ||
        endpoint_ == SMG_ENDPOINT_RESPONSES;
    facts_.stream = can_stream && seen_.type(BodyKey::stream) == JsonType::yes;
    facts_.return_documents =
        short_rerank_ || seen_.type(BodyKey::return_documents) != JsonType::no;
    facts_.close = static_cast<std::uint32_t>(trimmed(body_).size() - 1);
    settle_input();
    return SUCCESS;
  }

  void settle_input() {
    for (std::size_t which = 0; which < partition_.size(); ++which) {
      if (partition_[which].empty() || !(text_wanted_ || tokens_wanted_)) continue;
      // With its size, so that no two different sets of values are written alike.
      const std::string_view value = partition_[which].in(body_);
      input_.cache_namespace += std::to_string(which) + ":" + std::to_string(value.size()) + ":";
      input_.cache_namespace += value;
    }
    if (!front_.empty()) {
      if (!input_.text.empty()) front_ += ' ';
      input_.text.insert(0, front_);
    }
    if (input_.tokens.empty()) return;
    if (tokens_wanted_) {
      input_.text.clear();
      return;
    }
    if (input_.text.empty()) {
      for (const std::uint32_t id : input_.tokens) {
        if (!input_.text.empty()) input_.text += ' ';
        input_.text += std::to_string(id);
      }
    }
    input_.tokens.clear();
  }

  std::string_view body_;
  std::uint32_t endpoint_;
  bool short_rerank_;
  bool tokens_wanted_;
  bool text_wanted_;
  std::array<BodySpan, 3> partition_{};
  RequestFacts& facts_;
  RoutingInput& input_;
  std::string& front_;
  Bounds bounds_;
  TextWalk text_;
  SeenBody seen_;
  std::string_view model_;
};

std::string_view description(error_code error) {
  switch (error) {
    case simdjson::EMPTY:
      return "the body is empty";
    case simdjson::UTF8_ERROR:
      return "the body is not UTF-8";
    case simdjson::UNCLOSED_STRING:
      return "a string is not closed";
    case simdjson::UNESCAPED_CHARS:
      return "a control character stands unescaped in a string";
    case simdjson::STRING_ERROR:
      return "a string has an escape that does not exist";
    case simdjson::INCOMPLETE_ARRAY_OR_OBJECT:
      return "an array or object is not closed";
    case simdjson::CAPACITY:
      return "more than 48 known keys, or more than 4 GiB";
    default:
      return "a comma, colon, bracket or value is missing or misplaced";
  }
}

BodyError malformed(Extractor extractor, error_code error) {
  return {BodyFault::malformed, extractor, std::string(description(error))};
}

// A whole document that is no object is of the wrong type, anything less is malformed.
BodyError no_object(std::string_view body, simdjson::ondemand::document& document,
                    Extractor extractor) {
  const std::string_view text = trimmed(body.substr(body.find_first_not_of(" \t\n\r")));
  bool whole = false;
  if (text.front() == '[') {
    std::string_view bytes;
    whole = document.raw_json().get(bytes) == SUCCESS &&
            bytes.data() + trimmed(bytes).size() == text.data() + text.size();
  } else {
    std::string_view token;
    double number = 0;
    const bool alone = document.raw_json_token().get(token) == SUCCESS && trimmed(token) == text;
    const JsonType type = type_of(text);
    whole = alone && type != JsonType::absent &&
            (type != JsonType::number || document.get_double().get(number) == SUCCESS);
  }
  if (!whole) return malformed(extractor, simdjson::TAPE_ERROR);
  return {BodyFault::wrong_shape, extractor, "the body is not a JSON object"};
}

BodyError read_document(simdjson::ondemand::parser& parser, std::string_view body, Scan& scan,
                        std::uint32_t endpoint, Extractor extractor) {
  simdjson::ondemand::document document;
  error_code error =
      parser.iterate(body.data(), body.size(), body.size() + kBodySlack).get(document);
  if (error != SUCCESS) return malformed(extractor, error);
  if (body[body.find_first_not_of(" \t\n\r")] != '{') return no_object(body, document, extractor);

  Object object;
  error = document.get_object().get(object);
  if (error == SUCCESS) error = scan.read(object);
  if (error != SUCCESS) return malformed(extractor, error);
  // Behind the last bracket there is no location: anything else means that something follows it.
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
    return {BodyFault::malformed, extractor, "something follows the JSON object"};
  }
  return check_body(endpoint, extractor, scan.seen());
}

}  // namespace

RequestReader::RequestReader() : parser_(std::make_unique<Parser>()) {}
RequestReader::~RequestReader() = default;
RequestReader::RequestReader(RequestReader&& other) noexcept = default;
RequestReader& RequestReader::operator=(RequestReader&& other) noexcept = default;

BodyError RequestReader::read(std::string_view body, std::uint32_t endpoint, Extractor extractor,
                              std::uint32_t needs, RequestFacts& facts, RoutingInput& input) {
  facts.clear();
  input.clear();
  parser_->make_room(body.size());
  Scan scan(body, endpoint, extractor, needs, facts, input, parser_->scratch, parser_->front);
  BodyError error = read_document(parser_->json, body, scan, endpoint, extractor);
  parser_->trim();
  return error;
}

bool is_utf8(std::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

}  // namespace smg
