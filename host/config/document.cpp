#include "host/config/document.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <tuple>

#include <toml++/toml.h>

namespace smg {
namespace {

Position position(const toml::source_position& at) {
  return {at.line, at.column};
}

Node convert(const toml::node& from, ParseFailure& failure);

void add_children(Node& to, const toml::table& table, ParseFailure& failure) {
  for (const auto& [key, value] : table) {
    Node child = convert(value, failure);
    child.key = std::string(key.str());
    child.key_at = position(key.source().begin);
    to.children.push_back(std::move(child));
  }
  // The library sorts by name; people read from top to bottom.
  std::sort(to.children.begin(), to.children.end(), [](const Node& a, const Node& b) {
    return std::tie(a.key_at.line, a.key_at.column) < std::tie(b.key_at.line, b.key_at.column);
  });
}

// Settings end up in headers, addresses and paths, where such bytes would mean something else.
bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f;
  });
}

Node convert(const toml::node& from, ParseFailure& failure) {
  Node node;
  node.at = position(from.source().begin);
  if (const auto* table = from.as_table()) {
    add_children(node, *table, failure);
  } else if (const auto* array = from.as_array()) {
    node.kind = NodeKind::kArray;
    for (const auto& item : *array) node.children.push_back(convert(item, failure));
  } else if (const auto* text = from.as_string()) {
    node.kind = NodeKind::kString;
    node.text = text->get();
    if (failure.reason.empty() && has_control(node.text)) {
      failure.at = node.at;
      failure.reason = "a text must be one line without control characters";
    }
  } else if (const auto* integer = from.as_integer()) {
    node.kind = NodeKind::kInteger;
    node.integer = integer->get();
    node.number = static_cast<double>(node.integer);
  } else if (const auto* number = from.as_floating_point()) {
    node.kind = NodeKind::kFloat;
    node.number = number->get();
  } else if (const auto* flag = from.as_boolean()) {
    node.kind = NodeKind::kBool;
    node.flag = flag->get();
  } else {
    node.kind = NodeKind::kTime;
  }
  return node;
}

// What the library does not refuse, or not in words that help: zero bytes, and keys of so many
// parts that tables within tables would use up the stack.
bool check_lines(std::string_view text, ParseFailure& failure) {
  constexpr std::size_t kMaxDots = 2000;
  std::size_t dots = 0;
  failure.at = {};
  for (const char c : text) {
    if (c == '\n') {
      failure.at = {failure.at.line + 1, 0};
      dots = 0;
    }
    if (c == '\0') failure.reason = "contains a zero byte; this is not a text file";
    if (c == '.' && ++dots > kMaxDots) failure.reason = "more than 2000 dots in one line";
    if (!failure.reason.empty()) return false;
    ++failure.at.column;
  }
  return true;
}

}  // namespace

Node parse_document(std::string_view toml_text, ParseFailure& failure) {
  failure = {};
  if (toml_text.starts_with("\xff\xfe") || toml_text.starts_with("\xfe\xff")) {
    failure.reason = "the file is UTF-16; TOML is UTF-8, save it as that";
    return {};
  }
  if (toml_text.size() > kMaxDocument) {
    failure.reason = "the file has more than " + std::to_string(kMaxDocument) + " bytes";
    return {};
  }
  if (toml_text.starts_with("\xef\xbb\xbf")) toml_text.remove_prefix(3);
  if (!check_lines(toml_text, failure)) return {};
  try {
    const toml::table table = toml::parse(toml_text);
    return convert(table, failure);
  } catch (const toml::parse_error& error) {
    failure.at = position(error.source().begin);
    failure.reason = std::string(error.description());
    return {};
  }
}

Node parse_value(std::string_view toml_text, ParseFailure& failure) {
  Node root = parse_document("value = " + std::string(toml_text), failure);
  if (!failure.reason.empty() || root.children.empty()) return {};
  return std::move(root.children.front());
}

std::string_view describe_kind(NodeKind kind) {
  switch (kind) {
    case NodeKind::kTable:
      return "a table";
    case NodeKind::kArray:
      return "a list";
    case NodeKind::kString:
      return "a string";
    case NodeKind::kInteger:
      return "an integer";
    case NodeKind::kFloat:
      return "a number";
    case NodeKind::kBool:
      return "a boolean";
    case NodeKind::kTime:
      return "a date or time";
  }
  return "a value";
}

std::string printable_text(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string out;
  for (const char c : text.substr(0, kMost)) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) {
      out += c;
      continue;
    }
    constexpr std::string_view kHex = "0123456789abcdef";
    out += "\\x";
    out += kHex[static_cast<unsigned char>(c) >> 4];
    out += kHex[static_cast<unsigned char>(c) & 15];
  }
  if (text.size() <= kMost) return out;
  // Not in the middle of a character.
  while (!out.empty() && (out.back() & 0xc0) == 0x80) out.pop_back();
  if (!out.empty() && (out.back() & 0x80) != 0) out.pop_back();
  return out + "...";
}

std::string printable_value(const Node& node) {
  switch (node.kind) {
    case NodeKind::kTable:
      return "{ ... }";
    case NodeKind::kArray:
      return "[ ... ]";
    case NodeKind::kString:
      return "\"" + printable_text(node.text) + "\"";
    case NodeKind::kInteger:
      return std::to_string(node.integer);
    case NodeKind::kBool:
      return node.flag ? "true" : "false";
    case NodeKind::kTime:
      return "a date or time";
    case NodeKind::kFloat:
      break;
  }
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), node.number);
  return {text, end.ptr};
}

std::string printable_unknown(const Node& node) {
  const bool plain = node.kind == NodeKind::kInteger || node.kind == NodeKind::kFloat ||
                     node.kind == NodeKind::kBool;
  return plain ? " = " + printable_value(node) : "";
}

}  // namespace smg
