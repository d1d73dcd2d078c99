// A TOML document as a tree of plain values with their places in the file.
//
// The TOML library stays behind parse_document(); everything else works on this tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smg {

// 1-based; columns count characters.
struct Position {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

enum class NodeKind { kTable, kArray, kString, kInteger, kFloat, kBool, kTime };

struct Node {
  NodeKind kind = NodeKind::kTable;
  std::string key;  // empty for the root and for members of an array
  Position key_at;
  Position at;
  std::string text;
  std::int64_t integer = 0;
  double number = 0;
  bool flag = false;
  std::vector<Node> children;  // of a table in the order of the file, of an array in its order
};

// A plugin's own table, `[policy.NAME]` and the like, kept until the plugin is known.
struct PluginTable {
  std::uint32_t kind = 0;  // SMG_KIND_*
  Node table;
};

struct ParseFailure {
  Position at;
  std::string reason;  // empty: no failure
};

// Parses UTF-8 TOML 1.0 of at most kMaxDocument bytes (a byte order mark and CRLF are fine). On
// failure the root is empty.
inline constexpr std::size_t kMaxDocument = 1 << 20;
Node parse_document(std::string_view toml, ParseFailure& failure);

// A single value as one would write it behind `key =`.
Node parse_value(std::string_view toml, ParseFailure& failure);

// "a string", "an integer", ...
std::string_view describe_kind(NodeKind kind);

// For messages: the value as TOML, long texts cut, tables and arrays abbreviated.
std::string printable_value(const Node& node);
// The same for the value of a key that nobody knows: ` = 4`, but nothing for a text, which may be a
// secret under a mistyped name.
std::string printable_unknown(const Node& node);
// Control characters escaped, long texts cut.
std::string printable_text(std::string_view text);

}  // namespace smg
