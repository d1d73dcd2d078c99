// What is wrong with a request body, and the answer that says so.
//
// Bodies are taken in by one of two extractors; the endpoint decides which. They report in
// different shapes:
//   validated  400
//   {"error":{"message":M,"type":"invalid_request_error","code":"json_parse_error"}}; a field whose
//              value is not allowed has the number 400 as its code
//   plain      the message as text: 400 malformed, 415 content type, 422 wrong type or missing
//   field
// None of these answers carries X-SMG-Error-Code. Pure values, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "smg/transport.h"

namespace smg {

enum class Extractor : std::uint8_t { validated, plain };

// POST /v1/rerank is the one path whose extractor (plain) is not that of its endpoint: /rerank is
// validated.
constexpr Extractor extractor_of(std::uint32_t endpoint) {
  const bool plain = endpoint == SMG_ENDPOINT_GENERATE || endpoint == SMG_ENDPOINT_EMBEDDINGS ||
                     endpoint == SMG_ENDPOINT_CLASSIFY;
  return plain ? Extractor::plain : Extractor::validated;
}

enum class BodyFault : std::uint8_t {
  none,
  malformed,       // not JSON, or something behind it
  wrong_shape,     // a field is missing or of the wrong type
  bad_value,       // a field's value is not allowed
  content_type,    // not announced as JSON
  too_large,       // announced longer than the limit
  grew_too_large,  // crossed the limit without announcement
  unreadable,      // the client stopped sending
};

struct BodyError {
  BodyFault fault = BodyFault::none;
  Extractor extractor = Extractor::validated;
  std::string message;  // without the prefix that its kind gives it

  explicit operator bool() const { return fault != BodyFault::none; }
  std::uint32_t status() const;
  std::string_view content_type() const;
  std::string body() const;
};

// A value of Content-Type that says JSON: application/json or application/*+json, with or without
// parameters.
bool is_json_content_type(std::string_view value);
// No error when `value` says JSON; a missing header is an empty value.
BodyError check_content_type(Extractor extractor, std::string_view value);

}  // namespace smg
