// What the gateway knows of a request body after one pass over it.
//
// Offsets count from the start of the body; they stay true as long as the body's bytes do not
// change. The model is a copy, so it outlives the body. Pooled with the request: clear() keeps the
// memory. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/routing/request/body_keys.hpp"

namespace smg {

// Model of a request that names none; such a request goes to any worker.
inline constexpr std::string_view kUnknownModel = "unknown";

// A run of bytes of the body. Empty: not there.
struct BodySpan {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;

  std::uint32_t end() const { return offset + size; }
  bool empty() const { return size == 0; }
  std::string_view in(std::string_view body) const { return body.substr(offset, size); }
};

// One occurrence of a tracked key: the member runs from the key's opening quote to the end of its
// value.
struct BodyMember {
  std::uint32_t begin;
  std::uint32_t ordinal;  // 0 for the first member of the object
  BodySpan value;
  BodyKey key;
};

struct RequestFacts {
  // Bodies that repeat tracked keys beyond this are refused.
  static constexpr std::size_t kMaxMembers = 48;

  std::string model;             // unescaped; "unknown" where the endpoint does not demand one
  bool stream = false;           // false for endpoints that do not stream
  bool return_documents = true;  // rerank
  std::uint64_t top_k = 0;       // rerank: best results wanted, 0: all
  BodySpan query;                // rerank: values as they stand in the body
  BodySpan documents;
  BodySpan rid;

  // For edits: members in the order of the body.
  std::uint64_t present = 0;  // bit_of(key) of every tracked key that occurs
  std::uint64_t strip =
      0;  // bit_of(key) of those whose effective value (the last one) is to be removed
  std::uint32_t member_count = 0;  // all members of the object, untracked ones included
  std::uint32_t close = 0;         // offset of the object's closing brace
  std::uint32_t tracked_count = 0;
  std::array<BodyMember, kMaxMembers> tracked;

  bool has(BodyKey key) const { return (present & bit_of(key)) != 0; }
  void clear();
};

// What policies route by, as far as they asked. One per loop is enough: it is read during selection
// only.
struct RoutingInput {
  static constexpr std::size_t kKeptBytes = std::size_t{1} << 20;

  std::string text;  // empty when there are tokens
  std::vector<std::uint32_t> tokens;
  // Of the body's `cache_salt`, `extra_key` and `lora_path`, as they are written there: requests
  // that differ in it share no cache. Empty: the common one.
  std::string cache_namespace;

  // Keeps the memory unless there is a lot of it.
  void clear();
};

}  // namespace smg
