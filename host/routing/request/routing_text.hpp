// Collects routing text from messages, parts and lists while they are walked. Internal to
// request_reader.cpp.
//
// The pieces of text are joined by one space, empty ones are left out. Without a string to append
// to, content is looked at for its shape only.
#pragma once

#include "host/routing/request/ondemand.hpp"

namespace smg::ondemand {

// What a message's content is, for the rules on messages.
enum class Content { other, empty, filled };

class TextWalk {
 public:
  TextWalk(const Bounds& bounds, std::string* text) : bounds_(bounds), text_(text) {}

  bool wanted() const { return text_ != nullptr; }
  // The collected text's length, and going back to it: for a key that turns out to be repeated.
  std::size_t mark() const { return wanted() ? text_->size() : 0; }
  void back_to(std::size_t mark) {
    if (wanted()) text_->resize(mark);
  }

  error_code string(std::string_view token) {
    const std::string_view raw = without_quotes(token);
    if (!wanted() || raw.empty()) return SUCCESS;
    if (!text_->empty()) *text_ += ' ';
    return append_unescaped(*text_, raw) ? SUCCESS : simdjson::STRING_ERROR;
  }

  // A string, or the strings of an array; anything else has no text.
  error_code strings(Item& item) {
    if (item.type == JsonType::string) return string(item.token);
    if (item.type != JsonType::array || !wanted()) return SUCCESS;
    return each(item, [&](Item& element) {
      return element.type == JsonType::string ? string(element.token) : SUCCESS;
    });
  }

  // A string, or an array of parts.
  error_code content(Item& item, Content& shape) {
    shape = Content::other;
    if (item.type == JsonType::string) {
      shape = item.token.size() == 2 ? Content::empty : Content::filled;
      return string(item.token);
    }
    if (item.type != JsonType::array) return SUCCESS;
    if (!wanted()) {
      std::string_view bytes;
      if (const error_code error = bounds_.bytes(item, bytes)) return error;
      shape = is_empty_container(bytes) ? Content::empty : Content::filled;
      return SUCCESS;
    }
    shape = Content::empty;
    return each(item, [&](Item& element) {
      shape = Content::filled;
      return element.type == JsonType::object ? part(element) : SUCCESS;
    });
  }

  // Chat messages with the rules on them, for `seen`.
  error_code chat(Item& item, SeenBody& seen) {
    seen.message_count = seen.shapeless_message = seen.textless_message = 0;
    return each(item, [&](Item& element) {
      ++seen.message_count;
      if (element.type != JsonType::object) {
        if (seen.shapeless_message == 0) seen.shapeless_message = seen.message_count;
        return SUCCESS;
      }
      bool textless = false;
      const error_code error = message(element, true, textless);
      if (textless && seen.textless_message == 0) seen.textless_message = seen.message_count;
      return error;
    });
  }

  // Messages of the other APIs: text only.
  error_code items(Item& item) {
    bool textless = false;
    return each(item, [&](Item& element) {
      return element.type == JsonType::object ? message(element, false, textless) : SUCCESS;
    });
  }

 private:
  template <class Function>
  error_code each(Item& item, Function function) {
    Array array;
    if (const error_code error = item.value.get_array().get(array)) return error;
    for (auto result : array) {
      Item element;
      if (const error_code error = bounds_.item(result, element)) return error;
      if (const error_code error = function(element)) return error;
    }
    return SUCCESS;
  }

  template <class Function>
  error_code each_field(Item& item, Function function) {
    Object object;
    if (const error_code error = item.value.get_object().get(object)) return error;
    for (auto result : object) {
      simdjson::ondemand::field field;
      if (const error_code error = std::move(result).get(field)) return error;
      std::string_view raw;
      std::string_view name;
      if (const error_code error = bounds_.key(field.key(), raw, name)) return error;
      Item value;
      if (const error_code error = bounds_.item(std::move(field).value(), value)) return error;
      if (const error_code error = function(name, value)) return error;
    }
    return SUCCESS;
  }

  error_code message(Item& item, bool chat, bool& textless) {
    const std::size_t start = mark();
    Content shape = Content::other;
    std::string_view role;
    std::string_view reasoning;
    const error_code error = each_field(item, [&](std::string_view name, Item& value) {
      const std::string_view token = value.type == JsonType::string ? value.token : "";
      if (name == "content") {
        back_to(start);
        return content(value, shape);
      }
      if (name == "role") role = token;
      if (name == "reasoning_content") reasoning = token;
      return SUCCESS;
    });
    if (error != SUCCESS || !chat || role.empty()) return error;

    bool is_user = false;
    if (shape == Content::empty) {
      if (const error_code broken = says(role, "user", is_user)) return broken;
    }
    textless = is_user;
    if (!wanted() || reasoning.empty()) return SUCCESS;
    bool is_assistant = false;
    if (const error_code broken = says(role, "assistant", is_assistant)) return broken;
    return is_assistant ? string(reasoning) : SUCCESS;
  }

  // {"type": "text", "text": "..."}; other parts have no text for routing.
  error_code part(Item& item) {
    std::string_view type;
    std::string_view text;
    const error_code error = each_field(item, [&](std::string_view name, Item& value) {
      const std::string_view token = value.type == JsonType::string ? value.token : "";
      if (name == "type") type = token;
      if (name == "text") text = token;
      return SUCCESS;
    });
    if (error != SUCCESS || text.empty()) return error;
    bool is_text = type.empty();
    for (const std::string_view known : {"text", "input_text", "output_text", "reasoning_text"}) {
      if (is_text) break;
      if (const error_code broken = says(type, known, is_text)) return broken;
    }
    return is_text ? string(text) : SUCCESS;
  }

  const Bounds& bounds_;
  std::string* text_;
};

}  // namespace smg::ondemand
