#include "host/config/document.hpp"

#include <cmath>
#include <sstream>

#include <toml++/toml.h>

namespace smg {
namespace {

Position position(const toml::source_position& at) {
  return {at.line, at.column};
}

Node convert(const toml::node& from);

void add_children(Node& to, const toml::table& table) {
  for (const auto& [key, value] : table) {
    Node child = convert(value);
    child.key = std::string(key.str());
    child.key_at = position(key.source().begin);
    to.children.push_back(std::move(child));
  }
}

Node convert(const toml::node& from) {
  Node node;
  node.at = position(from.source().begin);
  if (const auto* table = from.as_table()) {
    add_children(node, *table);
  } else if (const auto* array = from.as_array()) {
    node.kind = NodeKind::kArray;
    for (const auto& item : *array) node.children.push_back(convert(item));
  } else if (const auto* text = from.as_string()) {
    node.kind = NodeKind::kString;
    node.text = text->get();
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

}  // namespace

Node parse_document(std::string_view toml_text, ParseFailure& failure) {
  failure = {};
  if (toml_text.starts_with("\xff\xfe") || toml_text.starts_with("\xfe\xff")) {
    failure.reason = "the file is UTF-16; TOML is UTF-8, save it as that";
    return {};
  }
  if (toml_text.starts_with("\xef\xbb\xbf")) toml_text.remove_prefix(3);
  try {
    const toml::table table = toml::parse(toml_text);
    return convert(table);
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

std::string printable_value(const Node& node) {
  switch (node.kind) {
    case NodeKind::kTable:
      return "{ ... }";
    case NodeKind::kArray:
      return "[ ... ]";
    case NodeKind::kString:
      return "\"" + (node.text.size() > 60 ? node.text.substr(0, 57) + "..." : node.text) + "\"";
    case NodeKind::kInteger:
      return std::to_string(node.integer);
    case NodeKind::kBool:
      return node.flag ? "true" : "false";
    case NodeKind::kTime:
      return "a time";
    case NodeKind::kFloat:
      break;
  }
  if (std::isnan(node.number)) return "nan";
  if (std::isinf(node.number)) return node.number < 0 ? "-inf" : "inf";
  std::ostringstream out;
  out << node.number;
  return out.str();
}

}  // namespace smg
